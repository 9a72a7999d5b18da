about {system calls, as strace has them}
kernel {process systemcall}
verbose {stacks 1 buffers 64,512}
