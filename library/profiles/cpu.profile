# Who runs, who waits, and for whom.
about {the processor: threads on and off the CPUs, processes coming and going}
kernel {process thread contextswitch}
light {kernel {process contextswitch}}
verbose {kernel {process thread contextswitch systemcall} stacks 1 buffers 64,512}
