/*
 * tests/unix/test_sockets.c --
 *
 *	The events of sockets without a kernel (tests/support/kernel_records.h): whose socket it is, what its ends are,
 *	which state change is which event, the events of Windows' provider, and kernels without records of sends.
 */
#define _GNU_SOURCE
#include "tests/support/check.h"

#ifdef __linux__
#include "tests/support/kernel_records.h"
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LISTEN = TCP_STATE_LISTEN,
    CLOSE = TCP_STATE_CLOSE,
    SENT = TCP_STATE_SYN_SENT,
    RECEIVED = TCP_STATE_SYN_RECV,
    OPEN = TCP_STATE_ESTABLISHED
};
#define FIN_WAIT 4
#define CLOSE_WAIT 8

/* ---- State changes --------------------------------------------------------------------------- */

/* A state change of a socket from 10.0.0.1:LOCAL to 10.0.0.2:REMOTE. */
static void stateOf(uint32_t tid, uint64_t sk, int old, int new, int local, int remote)
{
    char fields[400];
    snprintf(fields, sizeof fields,
            "skaddr=%llu oldstate:4=%d newstate:4=%d sport:2=%d dport:2=%d family:2=2 protocol:2=6 "
            "saddr=@0a000001 "
            "daddr=@%s saddr_v6=@00000000000000000000ffff0a000001 "
            "daddr_v6=@00000000000000000000ffff0a000002",
            (unsigned long long)sk, old, new, local, remote, remote != 0 ? "0a000002" : "00000000");
    fire("inet_sock_set_state", tid, fields);
}
/* The same over IPv6, from fd00::1 to fd00::2. */
static void stateOf6(uint32_t tid, uint64_t sk, int old, int new, int local, int remote)
{
    char fields[400];
    snprintf(fields, sizeof fields,
            "skaddr=%llu oldstate:4=%d newstate:4=%d sport:2=%d dport:2=%d family:2=10 "
            "protocol:2=6 saddr=@00000000 "
            "daddr=@00000000 saddr_v6=@fd000000000000000000000000000001 "
            "daddr_v6=@fd000000000000000000000000000002",
            (unsigned long long)sk, old, new, local, remote);
    fire("inet_sock_set_state", tid, fields);
}

#define TCP4(event, owner, sk, local, remote, rest)                                                \
    "tcpip " event " " owner " Socket=0x" sk " Family=2 LocalAddr=10.0.0.1 LocalPort=" local       \
    " RemoteAddr=10.0.0.2 RemotePort=" remote rest " stack=1"
#define TCP6(event, owner, sk, local, remote, rest)                                                \
    "tcpip " event " " owner " Socket=0x" sk " Family=10 LocalAddr=fd00::1 LocalPort=" local       \
    " RemoteAddr=fd00::2 RemotePort=" remote rest " stack=1"
#define STATES(old, new, context) " OldState=" old " NewState=" new " ContextPid=" context

static void states_1_1_connect(void)
{
    begin();
    stateOf(101, 0x40, CLOSE, SENT, 0, 80);
    EXPECT(TCP4("StateChange", "100/101", "40", "0", "80", STATES("7", "2", "100")));
    /* The answer comes in an interrupt, on top of any thread. */
    flags = KERNEL_FLAG_SOFTIRQ;
    stateOf(200, 0x40, SENT, OPEN, 5000, 80);
    EXPECT(TCP4("Connect", "100/101", "40", "5000", "80", STATES("2", "1", "200")));
    stateOf(0, 0x40, OPEN, CLOSE_WAIT, 5000, 80);
    EXPECT(TCP4("StateChange", "100/101", "40", "5000", "80", STATES("1", "8", "0")));
    /* The thread that closes it owns it; a closing socket may have lost its addresses. */
    flags = 0;
    stateOf(200, 0x40, CLOSE_WAIT, CLOSE, 0, 0);
    EXPECT(TCP4("Disconnect", "200/200", "40", "5000", "80", STATES("8", "7", "200")));
    CHECK_EQ(KernelSockFind(&k->socks, 0x40)->state, TCP_STATE_CLOSE);
    stateOf6(101, 0x80, CLOSE, SENT, 1, 2);
    EXPECT(TCP6("StateChange", "100/101", "80", "1", "2", STATES("7", "2", "100")));
    flags = KERNEL_FLAG_HARDIRQ;
    stateOf6(200, 0x80, SENT, OPEN, 1, 2);
    EXPECT(TCP6("Connect", "100/101", "80", "1", "2", STATES("2", "1", "200")));
    end();
}

/* Only a connection that was established is disconnected; only SYN_SENT and SYN_RECV become connections. */
static void states_1_2_classes(void)
{
    static const struct {
        int old, new;
        const char *event;
    } cases[] = {{SENT, OPEN, "Connect"}, {FIN_WAIT, OPEN, "StateChange"},
            {SENT, CLOSE, "StateChange"}, {RECEIVED, CLOSE, "StateChange"},
            {TCP_STATE_NEW_SYN_RECV, CLOSE, "StateChange"}, {LISTEN, CLOSE, "StateChange"},
            {CLOSE, CLOSE, "StateChange"}, {OPEN, CLOSE, "Disconnect"},
            {FIN_WAIT, CLOSE, "Disconnect"}, {5, CLOSE, "Disconnect"}, {9, CLOSE, "Disconnect"},
            {OPEN, FIN_WAIT, "StateChange"}};
    begin();
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        char want[300];
        stateOf(101, 0x40, CLOSE, SENT, 5000, 80);
        seen.size = 0;
        stateOf(101, 0x40, cases[i].old, cases[i].new, 5000, 80);
        snprintf(want, sizeof want,
                "tcpip %s 100/101 Socket=0x40 Family=2 LocalAddr=10.0.0.1 LocalPort=5000 "
                "RemoteAddr=10.0.0.2 RemotePort=80 "
                "OldState=%d NewState=%d ContextPid=100 stack=1",
                cases[i].event, cases[i].old, cases[i].new);
        EXPECT(want);
    }
    /* Other protocols have the same record. */
    fire("inet_sock_set_state", 101,
            "skaddr=0x40 oldstate:4=7 newstate:4=2 sport:2=1 dport:2=2 family:2=2 protocol:2=132 "
            "saddr=@0a000001 daddr=@0a000002 "
            "saddr_v6=@00000000000000000000ffff0a000001 "
            "daddr_v6=@00000000000000000000ffff0a000002");
    end();
}

/* An accepted socket belongs to the owner of the listener at its local address. */
static void states_1_3_accept(void)
{
    begin();
    stateOf(101, 0x40, CLOSE, LISTEN, 80, 0);
    seen.size = 0;
    flags = KERNEL_FLAG_SOFTIRQ;
    stateOf(999999999, 0x80, LISTEN, RECEIVED, 80, 4000);
    EXPECT(TCP4("StateChange", "100/101", "80", "80", "4000", STATES("10", "3", "999999999")));
    stateOf(200, 0x80, RECEIVED, OPEN, 80, 4000);
    EXPECT(TCP4("Accept", "100/101", "80", "80", "4000", STATES("3", "1", "200")));
    /* Its first record was not seen. */
    stateOf(200, 0xc0, RECEIVED, OPEN, 80, 4001);
    EXPECT(TCP4("Accept", "100/101", "c0", "80", "4001", STATES("3", "1", "200")));
    /* Nobody of ours listens there. */
    stateOf(200, 0x100, LISTEN, RECEIVED, 81, 4000);
    stateOf(200, 0x100, RECEIVED, OPEN, 81, 4000);
    EXPECT("");
    /* The address of a socket of ours is used again by a process that is not traced. */
    stateOf(999999999, 0x80, CLOSE, SENT, 1, 2);
    CHECK_EQ(KernelSockFind(&k->socks, 0x80)->pid, 0);
    CHECK_EQ(KernelSockFind(&k->socks, 0x80)->state, TCP_STATE_CLOSE);
    stateOf(999999999, 0x80, SENT, OPEN, 1, 2);
    EXPECT("");
    /* A thread of ours that runs below the interrupt has not caused it, nor has it when it only receives the SYN. */
    flags = 0;
    stateOf(200, 0x140, LISTEN, RECEIVED, 80, 4002);
    EXPECT(TCP4("StateChange", "100/101", "140", "80", "4002", STATES("10", "3", "200")));
    end();
}

/* All processes are traced: sockets without an owner have events, too. */
static void states_1_4_all(void)
{
    begin();
    k->tasks.all = true;
    flags = KERNEL_FLAG_SOFTIRQ;
    stateOf(0, 0x100, LISTEN, RECEIVED, 81, 4000);
    EXPECT(TCP4("StateChange", "-1/-1", "100", "81", "4000", STATES("10", "3", "0")));
    fire("tcp_retransmit_skb", 0, "skaddr=0x100");
    EXPECT(TCP4("Retransmit", "-1/-1", "100", "81", "4000", ""));
    end();
}

static void states_1_5_retransmit(void)
{
    begin();
    stateOf(101, 0x40, CLOSE, SENT, 5000, 80);
    stateOf6(101, 0x80, CLOSE, SENT, 5000, 80);
    seen.size = 0;
    fire("tcp_retransmit_skb", 999999999, "skaddr=0x40");
    EXPECT(TCP4("Retransmit", "100/101", "40", "5000", "80", ""));
    fire("tcp_retransmit_skb", 999999999, "skaddr=0x80");
    EXPECT(TCP6("Retransmit", "100/101", "80", "5000", "80", ""));
    fire("tcp_retransmit_skb", 101, "skaddr=0xc0");
    KernelSockFind(&k->socks, 0x40)->pid = 0;
    fire("tcp_retransmit_skb", 101, "skaddr=0x40");
    only(-1, -1);
    fire("tcp_retransmit_skb", 101, "skaddr=0x80");
    end();
}

/* ---- Sends and receives ---------------------------------------------------------------------- */

static void move(const char *which, uint32_t tid, const char *rest)
{
    char fields[200];
    snprintf(fields, sizeof fields, "sk=0x40 family:2=2 %s", rest);
    fire(which, tid, fields);
}
#define SEND(rest) move("sock_send_length", 101, rest)
#define RECEIVE(rest) move("sock_recv_length", 200, rest)

static void transfers_1_1_tcp(void)
{
    begin();
    stateOf(101, 0x40, CLOSE, SENT, 5000, 80);
    stateOf(101, 0x40, SENT, OPEN, 5000, 80);
    seen.size = 0;
    SEND("protocol:2=6 ret:4=1000 flags:4=0");
    EXPECT(TCP4("Send", "100/101", "40", "5000", "80", " Size=1000"));
    /* Who receives owns it from then on. */
    RECEIVE("protocol:2=6 ret:4=0 flags:4=0x40");
    EXPECT(TCP4("Receive", "200/200", "40", "5000", "80", " Size=0"));
    CHECK_EQ(KernelSockFind(&k->socks, 0x40)->pid, 200);
    SEND("protocol:2=6 ret:4=-32 flags:4=0");
    EXPECT(TCP4("Send", "100/101", "40", "5000", "80", " Size=-32"));
    /* Nothing was moved, or it was only looked at. */
    static const char *const none[] = {"ret:4=-11 flags:4=0", "ret:4=-4 flags:4=0",
            "ret:4=-512 flags:4=0", "ret:4=-516 flags:4=0", "ret:4=-514 flags:4=0",
            "ret:4=5 flags:4=2", "ret:4=5 flags:4=0x2000", "ret:4=5 flags:4=0x2042"};
    for (int i = 0; i < 8; i++) {
        char fields[100];
        snprintf(fields, sizeof fields, "protocol:2=6 %s", none[i]);
        RECEIVE(fields);
        EXPECT("");
    }
    RECEIVE("protocol:2=6 ret:4=-511 flags:4=0");
    EXPECT(TCP4("Receive", "200/200", "40", "5000", "80", " Size=-511"));
    RECEIVE("protocol:2=6 ret:4=-517 flags:4=0");
    EXPECT(TCP4("Receive", "200/200", "40", "5000", "80", " Size=-517"));
    RECEIVE("protocol:2=1 ret:4=5 flags:4=0");
    fire("sock_recv_length", 200,
            "sk=0x40 family:2=1 protocol:2=6 ret:4=5 flags:4=0"); /* a Unix socket */
    /* Only what is enabled. */
    k->events[EV_TCP_SEND] = k->events[EV_TCP_SEND + 1] = NULL;
    SEND("protocol:2=6 ret:4=1000 flags:4=0");
    EXPECT("");
    end();
}

/* A socket that nothing has reported has no addresses. */
static void transfers_1_2_unknown(void)
{
    begin();
    SEND("protocol:2=6 ret:4=10 flags:4=0");
    EXPECT("tcpip Send 100/101 Socket=0x40 Family=2 LocalAddr=0.0.0.0 LocalPort=0 "
           "RemoteAddr=0.0.0.0 RemotePort=0 Size=10 stack=1");
    CHECK_EQ(KernelSockFind(&k->socks, 0x40)->state, TCP_STATE_ESTABLISHED);
    fire("sock_send_length", 101, "sk=0x80 family:2=10 protocol:2=6 ret:4=10 flags:4=0");
    EXPECT("tcpip Send 100/101 Socket=0x80 Family=10 LocalAddr=:: LocalPort=0 RemoteAddr=:: "
           "RemotePort=0 Size=10 stack=1");
    SEND("protocol:2=17 ret:4=10 flags:4=0"); /* the address is now a UDP socket's */
    EXPECT("udpip Send 100/101 Socket=0x40 Family=2 LocalAddr=0.0.0.0 LocalPort=0 "
           "RemoteAddr=0.0.0.0 RemotePort=0 Size=10 stack=1");
    CHECK_EQ(KernelSockFind(&k->socks, 0x40)->state, TCP_STATE_CLOSE);
    SEND("protocol:2=17 ret:4=-95 flags:4=0"); /* the kernel tries again in another way */
    EXPECT("");
    SEND("protocol:2=6 ret:4=10 flags:4=0");
    EXPECT("tcpip Send 100/101 Socket=0x40 Family=2 LocalAddr=0.0.0.0 LocalPort=0 "
           "RemoteAddr=0.0.0.0 RemotePort=0 Size=10 stack=1");
    end();
}

static void found(uint64_t sk, uint32_t pid, uint8_t protocol, bool peer)
{
    SockFound f = {.sk = sk, .protocol = protocol, .state = CLOSE, .peer = peer};
    static const uint8_t local[4] = {10, 0, 0, 1}, remote[4] = {10, 0, 0, 2};
    SockAddrsSet(&f.ends, AF_INET, local, htons(5000), remote, peer ? htons(53) : 0);
    KernelSockAddFound(k, pid, &f, now);
}

static void route(
        const char *name, uint32_t tid, const char *src, const char *dst, int sport, int dport)
{
    char fields[200];
    snprintf(fields, sizeof fields, "proto:1=17 src=@%s dst=@%s sport:2=%d dport:2=%d", src, dst,
            sport, dport);
    fire(name, tid, fields);
}
#define UDP(event, owner, local, lport, remote, rport, size)                                       \
    "udpip " event " " owner " Socket=0x40 Family=2 LocalAddr=" local " LocalPort=" lport          \
    " RemoteAddr=" remote " RemotePort=" rport " Size=" size " stack=1"
#define SENDU SEND("protocol:2=17 ret:4=10 flags:4=0")

/* The ends of a send on an unconnected socket are those of the route that its thread has just looked up. */
static void transfers_1_3_routes(void)
{
    begin();
    found(0x40, 100, IPPROTO_UDP, false);
    KernelSockFind(&k->socks, 0x40)->ends = (SockAddrs){.localPort = htons(5000)};
    route("fib_table_lookup", 101, "00000000", "0a000003", 0, 53);
    SENDU;
    EXPECT(UDP("Send", "100/101", "0.0.0.0", "5000", "10.0.0.3", "53", "10"));
    /* A route is of one send only, and of its thread. */
    route("fib_table_lookup", 100, "00000000", "0a000004", 5000, 54);
    SENDU;
    EXPECT(UDP("Send", "100/101", "0.0.0.0", "5000", "10.0.0.3", "53", "10"));
    /* The local address that is known stays. */
    found(0x40, 100, IPPROTO_UDP, false);
    route("fib_table_lookup", 101, "0a000009", "0a000003", 4999, 53);
    SENDU;
    EXPECT(UDP("Send", "100/101", "10.0.0.1", "4999", "10.0.0.3", "53", "10"));
    /* Not a lookup of UDP, or on top of the thread. */
    fire("fib_table_lookup", 101, "proto:1=6 src=@00000000 dst=@0a000007 sport:2=1 dport:2=2");
    flags = KERNEL_FLAG_SOFTIRQ;
    route("fib_table_lookup", 101, "00000000", "0a000008", 1, 2);
    flags = 0;
    SENDU;
    EXPECT(UDP("Send", "100/101", "10.0.0.1", "4999", "10.0.0.3", "53", "10"));
    /* What is received may come from anywhere. */
    RECEIVE("protocol:2=17 ret:4=7 flags:4=0");
    EXPECT(UDP("Receive", "200/200", "10.0.0.1", "4999", "0.0.0.0", "0", "7"));
    /* Threads with the same place in the table do not take each other's. */
    KernelTaskAdd(&k->tasks, 101 + 64, 100);
    route("fib_table_lookup", 101 + 64, "00000000", "0a000005", 1, 2);
    SENDU;
    EXPECT(UDP("Send", "100/101", "10.0.0.1", "4999", "10.0.0.3", "53", "10"));
    end();
}

/* connect looks a route up twice, the second time with the source that the first has found: the socket has one sender then. */
static void transfers_1_4_connected(void)
{
    begin();
    found(0x40, 100, IPPROTO_UDP, false);
    route("fib_table_lookup", 101, "00000000", "0a000003", 5000, 53);
    route("fib_table_lookup", 101, "0a000001", "0a000003", 5000, 53);
    SENDU;
    EXPECT(UDP("Send", "100/101", "10.0.0.1", "5000", "10.0.0.3", "53", "10"));
    CHECK(KernelSockFind(&k->socks, 0x40)->peer);
    RECEIVE("protocol:2=17 ret:4=7 flags:4=0");
    EXPECT(UDP("Receive", "200/200", "10.0.0.1", "5000", "10.0.0.3", "53", "7"));
    /* The lookup of another socket does not change one that is connected. */
    SENDU;
    seen.size = 0;
    route("fib_table_lookup", 101, "00000000", "0a000003", 5000, 53);
    SENDU;
    EXPECT(UDP("Send", "100/101", "10.0.0.1", "5000", "10.0.0.3", "53", "10"));
    /* Two lookups that are not of one connect. */
    static const struct {
        const char *src1, *dst1, *src2, *dst2;
        int sport, dport;
    } cases[] = {{"00000000", "0a000003", "00000000", "0a000003", 5000, 53},
            {"0a000001", "0a000003", "0a000001", "0a000003", 5000, 53},
            {"00000000", "0a000004", "0a000001", "0a000003", 5000, 53},
            {"00000000", "0a000003", "0a000001", "0a000003", 5001, 53},
            {"00000000", "0a000003", "0a000001", "0a000003", 5000, 54}};
    for (int i = 0; i < 5; i++) {
        found(0x40, 100, IPPROTO_UDP, false);
        route("fib_table_lookup", 101, cases[i].src1, cases[i].dst1, 5000, 53);
        route("fib_table_lookup", 101, cases[i].src2, cases[i].dst2, cases[i].sport,
                cases[i].dport);
        SENDU;
        CHECK(!KernelSockFind(&k->socks, 0x40)->peer);
    }
    seen.size = 0;
    /* A send between the two is the end of the first. */
    found(0x40, 100, IPPROTO_UDP, false);
    route("fib_table_lookup", 101, "00000000", "0a000003", 5000, 53);
    SENDU;
    route("fib_table_lookup", 101, "0a000001", "0a000003", 5000, 53);
    SENDU;
    CHECK(!KernelSockFind(&k->socks, 0x40)->peer);
    seen.size = 0;
    end();
}

static void transfers_1_5_udp6(void)
{
    begin();
    route("fib6_table_lookup", 101, "fd000000000000000000000000000001",
            "fd000000000000000000000000000002", 5000, 53);
    fire("sock_send_length", 101, "sk=0x40 family:2=10 protocol:2=17 ret:4=10 flags:4=0");
    EXPECT("udpip Send 100/101 Socket=0x40 Family=10 LocalAddr=fd00::1 LocalPort=5000 "
           "RemoteAddr=fd00::2 RemotePort=53 Size=10 stack=1");
    end();
}

/* A connected UDP socket that is not found again after a second, while its thread looks up a route, is another one. */
static void transfers_1_6_reused(void)
{
    const uint64_t second = (uint64_t)1 << 31;
    begin();
    found(0x40, 100, IPPROTO_UDP, true);
    now += second;
    SENDU;
    EXPECT(UDP("Send", "100/101", "10.0.0.1", "5000", "10.0.0.2", "53", "10"));
    CHECK_EQ(KernelSockFind(&k->socks, 0x40)->checked, now);
    now += second + 1;
    route("fib_table_lookup", 101, "00000000", "0a000003", 5000, 54);
    SENDU;
    EXPECT(UDP("Send", "100/101", "10.0.0.1", "5000", "10.0.0.3", "54", "10"));
    CHECK(!KernelSockFind(&k->socks, 0x40)->peer);
    end();
}

/* ---- Windows' events ------------------------------------------------------------------------- */

static void windowsOnly(void)
{
    for (int i = 0; i < EVENTS; i++) {
        k->events[i] = isWindows(i) ? (Etw_Event *)&events[i] : NULL;
    }
}
#define OWNER "64000000 "
#define ENDS4 " 0a000002 0a000001 00501388 "
#define ZEROS "00000000 00000000"

static void windows_1_1_events(void)
{
    begin();
    windowsOnly();
    stateOf(101, 0x40, CLOSE, SENT, 5000, 80);
    EXPECT("");
    stateOf(101, 0x40, SENT, OPEN, 5000, 80);
    EXPECT("windows+4 100/101 " OWNER "00000000" ENDS4 ZEROS " " ZEROS " " ZEROS);
    SEND("protocol:2=6 ret:4=258 flags:4=0");
    EXPECT("windows+0 100/101 " OWNER "02010000" ENDS4 ZEROS " " ZEROS);
    move("sock_recv_length", 101, "protocol:2=6 ret:4=1 flags:4=0");
    EXPECT("windows+2 100/101 " OWNER "01000000" ENDS4 ZEROS);
    SEND("protocol:2=6 ret:4=0 flags:4=0"); /* no bytes: no event */
    SEND("protocol:2=6 ret:4=-32 flags:4=0");
    EXPECT("");
    fire("tcp_retransmit_skb", 101, "skaddr=0x40");
    EXPECT("windows+8 100/101 " OWNER "00000000" ENDS4 ZEROS);
    stateOf(101, 0x40, OPEN, CLOSE, 5000, 80);
    EXPECT("windows+6 100/101 " OWNER "00000000" ENDS4 ZEROS);
    stateOf(101, 0x80, CLOSE, LISTEN, 5000, 0);
    stateOf(101, 0x40, RECEIVED, OPEN, 5000, 80);
    EXPECT("windows+10 100/101 " OWNER "00000000" ENDS4 ZEROS " " ZEROS " " ZEROS);
    found(0xc0, 100, IPPROTO_UDP, true);
    fire("sock_send_length", 101, "sk=0xc0 family:2=2 protocol:2=17 ret:4=1 flags:4=0");
    EXPECT("windows+12 100/101 " OWNER "01000000 0a000002 0a000001 00351388 " ZEROS);
    fire("sock_recv_length", 101, "sk=0xc0 family:2=2 protocol:2=17 ret:4=1 flags:4=0");
    EXPECT("windows+14 100/101 " OWNER "01000000 0a000002 0a000001 00351388 " ZEROS);
    stateOf6(101, 0x100, CLOSE, SENT, 5000, 80);
    stateOf6(101, 0x100, SENT, OPEN, 5000, 80);
    EXPECT("windows+5 100/101 " OWNER "00000000 fd000000 00000000 00000000 00000002 fd000000 "
           "00000000 00000000 00000001 00501388 " ZEROS " " ZEROS " " ZEROS);
    end();
}

/* With IPv6 alone, sends are followed, too; those of IPv4 have no event. */
static void windows_1_2_one_family(void)
{
    begin();
    windowsOnly();
    for (int i = EV_WIN_SENT; i < EV_FILE_CREATE; i += 2) {
        k->events[i] = NULL;
    }
    SEND("protocol:2=6 ret:4=5 flags:4=0");
    EXPECT("");
    fire("sock_send_length", 101, "sk=0x80 family:2=10 protocol:2=6 ret:4=10 flags:4=0");
    EXPECT("windows+1 100/101 " OWNER "0a000000 " ZEROS " " ZEROS " " ZEROS " " ZEROS
           " 00000000 " ZEROS " " ZEROS);
    end();
}

/* Windows' events of IPv4 alone. */
static void windows_1_4_other_family(void)
{
    begin();
    windowsOnly();
    for (int i = EV_WIN_SENT + 1; i < EV_FILE_CREATE; i += 2) {
        k->events[i] = NULL;
    }
    stateOf(101, 0x40, SENT, OPEN, 5000, 80);
    seen.size = 0;
    SEND("protocol:2=6 ret:4=258 flags:4=0");
    EXPECT("windows+0 100/101 " OWNER "02010000" ENDS4 ZEROS " " ZEROS);
    found(0xc0, 100, IPPROTO_UDP, true);
    fire("sock_recv_length", 101, "sk=0xc0 family:2=2 protocol:2=17 ret:4=1 flags:4=0");
    EXPECT("windows+14 100/101 " OWNER "01000000 0a000002 0a000001 00351388 " ZEROS);
    fire("sock_send_length", 101, "sk=0x80 family:2=10 protocol:2=6 ret:4=10 flags:4=0");
    end();
}

/* Ids, tasks, opcodes and keywords are those of the manifest: IPv6 16 above IPv4. */
static void windows_1_3_defined(void)
{
    static const uint16_t ids[] = {10, 11, 12, 13, 14, 15, 42, 43};
    char runtime[] = "/tmp/etw-sockets-XXXXXX";
    EtwError err;
    int seenIds[64] = {0}, count = 0;
    REQUIRE(mkdtemp(runtime) != NULL);
    RegUseDir(runtime);
    begin();
    only(-1, -1);
    for (int v6 = 0; v6 < 2; v6++) {
        REQUIRE(KernelWindowsDefine(k, v6 ? GROUP_WINDOWS6 : GROUP_WINDOWS4, &err) == ETW_OK);
        for (int i = EV_WIN_SENT; i < EV_FILE_CREATE; i++) {
            CHECK_EQ(k->events[i] != NULL, v6 || (i - EV_WIN_SENT) % 2 == 0);
        }
    }
    for (uint32_t offset = 64; RegClassAt(offset) != NULL; offset += RegClassAt(offset)->size) {
        const RegClass *c = RegClassAt(offset);
        if (memcmp(c->guid.bytes, "\x49\x2a\xd4\x7d", 4) != 0) {
            continue; /* of another provider */
        }
        bool v6 = c->desc.keyword == 0x20;
        int i = 0;
        while (i < 8 && ids[i] + 16 * v6 != c->desc.id) {
            i++;
        }
        CHECK(i < 8 && c->desc.keyword == (v6 ? 0x20 : 0x10));
        CHECK_EQ(c->desc.opcode, i < 8 ? ids[i] : -1);
        CHECK_EQ(c->desc.task, i < 6 ? 10 : 11);
        CHECK_EQ(c->desc.level, 4);
        CHECK_EQ(c->metaSize, 0);
        seenIds[c->desc.id % 64]++;
        count++;
    }
    CHECK_EQ(count, 16);
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(seenIds[ids[i]], 1);
        CHECK_EQ(seenIds[ids[i] + 16], 1);
    }
    Etw_Unregister(k->providers[GROUP_WINDOWS4]);
    Etw_Unregister(k->providers[GROUP_WINDOWS6]);
    end();
}

/* ---- Sends and receives by system calls ------------------------------------------------------ */

static void enterCall(uint32_t tid, long id, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3)
{
    uint64_t args[6] = {a0, a1, a2, a3};
    char fields[200];
    int used = snprintf(fields, sizeof fields, "id=%ld args=@", id);
    for (size_t i = 0; i < sizeof args; i++) {
        used += snprintf(
                fields + used, sizeof fields - (size_t)used, "%02x", ((const uint8_t *)args)[i]);
    }
    fire("sys_enter", tid, fields);
}
static void leaveCall(uint32_t tid, long id, int64_t result)
{
    char fields[60];
    snprintf(fields, sizeof fields, "id=%ld ret=%lld", id, (long long)result);
    fire("sys_exit", tid, fields);
}
static void call(uint32_t tid, long id, uint64_t fd, int64_t result)
{
    enterCall(tid, id, fd, 0, 0, 0);
    leaveCall(tid, id, result);
}

static void beginCalls(void)
{
    begin();
    KernelCallsUse(k);
    k->events[EV_SYSCALL_ENTER] = k->events[EV_SYSCALL_EXIT] = NULL;
}

/* A descriptor gets the socket whose state changes inside its connect; it is any thread's of the process. */
static void connected(uint32_t tid, uint64_t sk, int fd)
{
    enterCall(tid, SYS_connect, (uint64_t)fd, 0, 0, 0);
    stateOf(tid, sk, CLOSE, SENT, 5000, 80);
    stateOf(tid, sk, SENT, OPEN, 5000, 80);
    leaveCall(tid, SYS_connect, 0);
    seen.size = 0;
}

static void calls_1_1_connect(void)
{
    static const struct {
        long id;
        const char *event;
    } cases[] = {{SYS_write, "Send"}, {SYS_writev, "Send"}, {SYS_sendto, "Send"},
            {SYS_sendmsg, "Send"}, {SYS_sendfile, "Send"}, {SYS_read, "Receive"},
            {SYS_readv, "Receive"}, {SYS_recvfrom, "Receive"}, {SYS_recvmsg, "Receive"}};
    beginCalls();
    connected(101, 0x40, 700);
    for (int i = 0; i < 9; i++) {
        char want[300];
        call(100, cases[i].id, 700, 12);
        snprintf(want, sizeof want,
                "tcpip %s 100/100 Socket=0x40 Family=2 LocalAddr=10.0.0.1 LocalPort=5000 "
                "RemoteAddr=10.0.0.2 RemotePort=80 Size=12 stack=1",
                cases[i].event);
        EXPECT(want);
        static const int none[] = {-EAGAIN, -EINTR, -EBADF, -512, -516};
        for (int n = 0; n < 5; n++) {
            call(100, cases[i].id, 700, none[n]);
        }
        EXPECT("");
    }
    call(100, SYS_read, 700, -517);
    EXPECT(TCP4("Receive", "100/100", "40", "5000", "80", " Size=-517"));
    call(100, SYS_read, 700, -511);
    EXPECT(TCP4("Receive", "100/100", "40", "5000", "80", " Size=-511"));
    call(100, SYS_write, 700, -32);
    EXPECT(TCP4("Send", "100/100", "40", "5000", "80", " Size=-32"));
    /* The number of messages is not a size. */
    call(100, SYS_sendmmsg, 700, 3);
    EXPECT(TCP4("Send", "100/100", "40", "5000", "80", " Size=0"));
    call(100, SYS_recvmmsg, 700, -32);
    EXPECT(TCP4("Receive", "100/100", "40", "5000", "80", " Size=-32"));
    /* A peek or the error queue. */
    enterCall(100, SYS_recvfrom, 700, 0, 0, MSG_PEEK);
    leaveCall(100, SYS_recvfrom, 5);
    enterCall(100, SYS_recvfrom, 700, 0, 0, MSG_ERRQUEUE);
    leaveCall(100, SYS_recvfrom, 5);
    enterCall(100, SYS_recvmsg, 700, 0, MSG_PEEK, 0);
    leaveCall(100, SYS_recvmsg, 5);
    EXPECT("");
    enterCall(100, SYS_recvfrom, 700, 0, MSG_PEEK,
            MSG_WAITALL); /* the flags are the fourth argument */
    leaveCall(100, SYS_recvfrom, 5);
    EXPECT(TCP4("Receive", "100/100", "40", "5000", "80", " Size=5"));
    enterCall(100, SYS_recvmsg, 700, 0, MSG_WAITALL, MSG_PEEK); /* the third */
    leaveCall(100, SYS_recvmsg, 5);
    EXPECT(TCP4("Receive", "100/100", "40", "5000", "80", " Size=5"));
    /* An exit without its enter, and other descriptors and processes. */
    leaveCall(100, SYS_read, 5);
    leaveCall(999999999, SYS_read, 5);
    call(200, SYS_read, 700, 5);
    call(100, SYS_read, 701, 5);
    EXPECT("");
    end();
}

/* A state change on top of another call, or in an interrupt, is not this descriptor's. */
static void calls_1_2_others(void)
{
    static const struct {
        long id;
        int old, new;
        uint8_t flags;
        bool set;
    } cases[] = {{SYS_connect, CLOSE, SENT, 0, true}, {SYS_sendto, CLOSE, SENT, 0, true},
            {SYS_listen, CLOSE, LISTEN, 0, true}, {SYS_write, CLOSE, SENT, 0, false},
            {SYS_listen, CLOSE, SENT, 0, false}, {SYS_connect, CLOSE, LISTEN, 0, false},
            {SYS_connect, CLOSE, SENT, KERNEL_FLAG_SOFTIRQ, false}};
    for (int i = 0; i < 7; i++) {
        beginCalls();
        stateOf(101, 0x40, CLOSE, SENT, 5000, 80);
        enterCall(101, cases[i].id, 700, 0, 0, 0);
        flags = cases[i].flags;
        stateOf(101, 0x40, cases[i].old, cases[i].new, 5000, 80);
        flags = 0;
        leaveCall(101, cases[i].id, -EINTR);
        seen.size = 0;
        call(101, SYS_read, 700, 5);
        CHECK_MSG((seen.size > 0) == cases[i].set, "case %d", i);
        seen.size = 0;
        end();
    }
}

/* accept returns the listener's connections in the order in which they were made. */
static void calls_1_3_accept(void)
{
    beginCalls();
    enterCall(101, SYS_listen, 700, 0, 0, 0);
    stateOf(101, 0x40, CLOSE, LISTEN, 5000, 0);
    leaveCall(101, SYS_listen, 0);
    for (int i = 0; i < 3; i++) {
        static const uint64_t order[] = {0xc0, 0x80, 0x100};
        flags = KERNEL_FLAG_SOFTIRQ;
        now++;
        stateOf(0, order[i], LISTEN, RECEIVED, 5000, 80);
        if (i < 2) {
            stateOf(0, order[i], RECEIVED, OPEN, 5000, 80);
        }
        flags = 0;
    }
    seen.size = 0;
    call(101, SYS_accept, 700, 701);
    call(101, SYS_accept4, 700, 702);
    call(101, SYS_accept, 700, 703); /* the third is not established yet */
    call(101, SYS_accept, 700, -11);
    call(101, SYS_write, 701, 5);
    EXPECT(TCP4("Send", "100/101", "c0", "5000", "80", " Size=5"));
    call(101, SYS_write, 702, 6);
    EXPECT(TCP4("Send", "100/101", "80", "5000", "80", " Size=6"));
    call(101, SYS_write, 703, 6);
    call(101, SYS_accept, 999, 704); /* not a listener */
    call(101, SYS_write, 704, 6);
    EXPECT("");
    end();
}

/* Copies of a descriptor are the same socket until they are closed; a child has its parent's. */
static void calls_1_4_copies(void)
{
    beginCalls();
    connected(101, 0x40, 700);
    call(101, SYS_dup, 700, 701);
    call(101, SYS_dup2, 701, 702);
    call(101, SYS_dup3, 702, 703);
    call(101, SYS_dup, 700, -24);
    for (uint64_t fd = 701; fd <= 703; fd++) {
        call(101, SYS_write, fd, 5);
        EXPECT(TCP4("Send", "100/101", "40", "5000", "80", " Size=5"));
    }
    call(101, SYS_close, 701, 0);
    call(101, SYS_write, 701, 5);
    EXPECT("");
    call(101, SYS_write, 702, 5);
    EXPECT(TCP4("Send", "100/101", "40", "5000", "80", " Size=5"));
    call(101, SYS_dup, 999, 702); /* no socket */
    call(101, SYS_write, 702, 5);
    EXPECT("");
    k->events[EV_PROCESS_START] = k->events[EV_THREAD_START] = NULL;
    fire("task_newtask", 101, "pid:4=77777777 comm='sh' clone_flags=0");
    call(77777777, SYS_write, 700, 5);
    EXPECT(TCP4("Send", "77777777/77777777", "40", "5000", "80", " Size=5"));
    call(77777777, SYS_write, 701, 5);
    EXPECT("");
    end();
}

/* UDP sockets are numbered when they are created; sends have the ends of their route. */
static void calls_1_5_udp(void)
{
    static const struct {
        int family, type;
        bool udp;
    } cases[] = {{AF_INET, SOCK_DGRAM, true}, {AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, true},
            {AF_INET, SOCK_STREAM, false}, {AF_UNIX, SOCK_DGRAM, false}};
    beginCalls();
    for (int i = 0; i < 4; i++) {
        enterCall(101, SYS_socket, (uint64_t)cases[i].family, (uint64_t)cases[i].type, 0, 0);
        leaveCall(101, SYS_socket, 710 + i);
        route("fib_table_lookup", 101, "00000000", "0a000003", 5000 + i, 53);
        call(101, SYS_sendto, (uint64_t)(710 + i), 9);
        if (cases[i].udp) {
            char want[300];
            snprintf(want, sizeof want,
                    "udpip Send 100/101 Socket=0x%d Family=2 LocalAddr=0.0.0.0 LocalPort=%d "
                    "RemoteAddr=10.0.0.3 RemotePort=53 Size=9 stack=1",
                    i + 1, 5000 + i);
            EXPECT(want);
        } else {
            EXPECT("");
        }
    }
    enterCall(101, SYS_socket, AF_INET, SOCK_DGRAM, 0, 0);
    leaveCall(101, SYS_socket, -24);
    CHECK(KernelSockFind(&k->socks, 3) == NULL);
    /* The descriptor is another's after its close. */
    call(101, SYS_close, 710, 0);
    enterCall(101, SYS_socket, AF_INET, SOCK_STREAM, 0, 0);
    leaveCall(101, SYS_socket, 710);
    call(101, SYS_sendto, 710, 9);
    EXPECT("");
    end();
}

/* What is known of a descriptor is kept while many others are looked up. */
static void calls_1_7_many(void)
{
    beginCalls();
    connected(101, 0x40, 700);
    for (int fd = 1000; fd < 1400; fd++) {
        call(200, SYS_read, (uint64_t)fd, 5);
    }
    EXPECT("");
    call(100, SYS_write, 700, 12);
    EXPECT(TCP4("Send", "100/100", "40", "5000", "80", " Size=12"));
    end();
}

/* A socket that was open before gets a number, until a record has its address in the kernel. */
static void calls_1_6_identified(void)
{
    beginCalls();
    uint32_t self = (uint32_t)getpid();
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    char fields[400], want[300];
    if (server < 0 || bind(server, (struct sockaddr *)&at, size) != 0 || listen(server, 1) != 0 ||
            getsockname(server, (struct sockaddr *)&at, &size) != 0 ||
            connect(client, (struct sockaddr *)&at, size) != 0) {
        SKIP("no loopback");
    }
    int remote = ntohs(at.sin_port);
    getsockname(client, (struct sockaddr *)&at, &size);
    int local = ntohs(at.sin_port);
    KernelTaskAdd(&k->tasks, self, self);
    enterCall(101, SYS_socket, AF_INET, SOCK_DGRAM, 0, 0); /* number 1 */
    leaveCall(101, SYS_socket, 710);
    call(self, SYS_write, (uint64_t)client, 3);
    snprintf(want, sizeof want,
            "tcpip Send %u/%u Socket=0x2 Family=2 LocalAddr=127.0.0.1 LocalPort=%d "
            "RemoteAddr=127.0.0.1 RemotePort=%d Size=3 stack=1",
            self, self, local, remote);
    EXPECT(want);
    flags = KERNEL_FLAG_SOFTIRQ;
    snprintf(fields, sizeof fields,
            "skaddr=0x123440 oldstate:4=1 newstate:4=8 sport:2=%d dport:2=%d family:2=2 "
            "protocol:2=6 saddr=@7f000001 daddr=@7f000001 "
            "saddr_v6=@00000000000000000000ffff7f000001 daddr_v6=@00000000000000000000ffff7f000001",
            local, remote);
    fire("inet_sock_set_state", 0, fields);
    flags = 0;
    snprintf(want, sizeof want,
            "tcpip StateChange %u/%u Socket=0x123440 Family=2 LocalAddr=127.0.0.1 LocalPort=%d "
            "RemoteAddr=127.0.0.1 RemotePort=%d OldState=1 NewState=8 "
            "ContextPid=0 stack=1",
            self, self, local, remote);
    EXPECT(want);
    call(self, SYS_read, (uint64_t)client, 0);
    snprintf(want, sizeof want,
            "tcpip Receive %u/%u Socket=0x123440 Family=2 LocalAddr=127.0.0.1 LocalPort=%d "
            "RemoteAddr=127.0.0.1 RemotePort=%d Size=0 stack=1",
            self, self, local, remote);
    EXPECT(want);
    CHECK_EQ(KernelSockFind(&k->socks, 2)->state, TCP_STATE_CLOSE);
    /* The listener is found in a scan of all descriptors; its port is not the client's. */
    KernelCallsScan(k, self);
    CHECK(KernelSockFind(&k->socks, 3) != NULL);
    CHECK_EQ(KernelSockFind(&k->socks, 3)->state, TCP_STATE_LISTEN);
    CHECK_EQ(ntohs(KernelSockFind(&k->socks, 3)->ends.localPort), remote);
    CHECK_EQ(KernelSockFind(&k->socks, 3)->pid, self);
    close(client);
    close(server);
    end();
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(states_1_1_connect);
    CHECK_RUN(states_1_2_classes);
    CHECK_RUN(states_1_3_accept);
    CHECK_RUN(states_1_4_all);
    CHECK_RUN(states_1_5_retransmit);
    CHECK_RUN(transfers_1_1_tcp);
    CHECK_RUN(transfers_1_2_unknown);
    CHECK_RUN(transfers_1_3_routes);
    CHECK_RUN(transfers_1_4_connected);
    CHECK_RUN(transfers_1_5_udp6);
    CHECK_RUN(transfers_1_6_reused);
    CHECK_RUN(windows_1_1_events);
    CHECK_RUN(windows_1_2_one_family);
    CHECK_RUN(windows_1_3_defined);
    CHECK_RUN(windows_1_4_other_family);
    CHECK_RUN(calls_1_1_connect);
    CHECK_RUN(calls_1_2_others);
    CHECK_RUN(calls_1_3_accept);
    CHECK_RUN(calls_1_4_copies);
    CHECK_RUN(calls_1_5_udp);
    CHECK_RUN(calls_1_6_identified);
    CHECK_RUN(calls_1_7_many);
    EtwTextFree(&seen);
    return CHECK_DONE();
}

#else

static void sockets(void)
{
    SKIP("the kernel room is for Linux");
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(sockets);
    return CHECK_DONE();
}

#endif
