# What a program asks the kernel for; verbose, also what it asks libc for, and who asked: slow, for the programs traced.
about {memory: page faults, mappings; verbose: mallocs and frees, with stacks}
kernel {process pagefault hardfault virtualalloc}
verbose {kernel {process pagefault hardfault virtualalloc heap} stacks 1 buffers 64,512}
