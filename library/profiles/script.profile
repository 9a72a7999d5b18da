# Needs no privilege.
about {Tcl scripts: every call, with its words and result}
script {*}
light {args 0}
verbose {steps full source 1 buffers 64,512}
