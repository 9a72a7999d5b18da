about {TCP and UDP: connections, bytes, retransmissions}
kernel {process tcpip udpip}
light {kernel {tcpip}}
verbose {kernel {process tcpip udpip contextswitch} stacks 1}
