# Who runs, who waits, and for whom.
about {the processor: samples of who runs, threads on and off the CPUs, processes coming and going}
kernel {process thread contextswitch profile}
light {kernel {process profile}}
verbose {kernel {process thread contextswitch systemcall profile} stacks 1 buffers 64,512}
