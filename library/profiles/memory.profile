about {memory: page faults, mappings}
kernel {process pagefault hardfault virtualalloc}
