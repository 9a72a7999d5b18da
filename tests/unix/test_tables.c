/*
 * tests/unix/test_tables.c --
 *
 *	The tables of the kernel room that need no kernel: sockets, threads, the merge of rings by time.
 */
#define _GNU_SOURCE
#include "tests/support/check.h"

#ifdef __linux__
#include "base/alloc.h"
#include "unix/kernel/socket_table.h"
#include "unix/kernel/transport/task_table.h"
#include "unix/kernel/transport/transport.h"
#include <sys/socket.h>
#include <unistd.h>

/* ---- Sockets --------------------------------------------------------------------------------- */

static const uint8_t any[16], v4[4] = {10, 0, 0, 1}, other4[4] = {10, 0, 0, 2};
static const uint8_t v6[16] = {0xfd, [15] = 1}, other6[16] = {0xfd, [15] = 2};
static const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 1};

static SockAddrs ends(int family, const uint8_t *local, uint16_t port)
{
    SockAddrs e;
    SockAddrsSet(&e, family, local, port, any, 0);
    return e;
}

static void listenAt(KernelSocks *s, uint64_t sk, int family, const uint8_t *local, uint16_t port)
{
    KernelSock *sock = KernelSockAdd(s, sk);
    sock->ends = ends(family, local, port);
    KernelSockState(s, sock, TCP_STATE_LISTEN);
}

static uint64_t listener(const KernelSocks *s, int family, const uint8_t *local, uint16_t port)
{
    SockAddrs e = ends(family, local, port);
    const KernelSock *sock = KernelSockListener(s, &e);
    return sock != NULL ? sock->sk : 0;
}

static void sockets_1_1_addresses(void)
{
    SockAddrs e;
    memset(&e, 0xEE, sizeof e);
    SockAddrsSet(&e, AF_INET, v4, 80, other4, 8080);
    CHECK(!e.v6);
    CHECK_EQ(e.localPort, 80);
    CHECK_EQ(e.remotePort, 8080);
    CHECK_MEM(e.local, 4, v4, 4);
    CHECK_MEM(e.remote, 4, other4, 4);
    CHECK_MEM(e.local + 4, 12, any, 12);
    SockAddrsSet(&e, AF_INET6, v6, 1, other6, 2);
    CHECK(e.v6);
    CHECK_MEM(e.local, 16, v6, 16);
    CHECK_MEM(e.remote, 16, other6, 16);
    /* An IPv4 address in an IPv6 socket is an IPv4 address, on either side. */
    SockAddrsSet(&e, AF_INET6, mapped, 1, any, 0);
    CHECK(!e.v6);
    CHECK_MEM(e.local, 4, v4, 4);
    CHECK_MEM(e.remote, 16, any, 16);
    SockAddrsSet(&e, AF_INET6, any, 1, mapped, 2);
    CHECK(!e.v6);
    CHECK_MEM(e.local, 16, any, 16);
    CHECK_MEM(e.remote, 4, v4, 4);
    SockAddrsSet(&e, AF_INET6, mapped, 1, mapped, 2);
    CHECK_MEM(e.local, 4, v4, 4);
    CHECK_MEM(e.remote, 4, v4, 4);
}

/* The port belongs to a listener's identity, then its address; an exact one is preferred to `any`. */
static void sockets_1_2_listener(void)
{
    KernelSocks s = {0};
    CHECK_EQ(listener(&s, AF_INET, v4, 80), 0);
    listenAt(&s, 0x100, AF_INET, any, 80);
    listenAt(&s, 0x200, AF_INET, v4, 80);
    listenAt(&s, 0x300, AF_INET, any, 81);
    listenAt(&s, 0x400, AF_INET6, any, 82);
    listenAt(&s, 0x500, AF_INET6, v6, 82);
    listenAt(&s, 0x600, AF_INET6, any, 80);
    CHECK_EQ(listener(&s, AF_INET, v4, 80), 0x200);
    CHECK_EQ(listener(&s, AF_INET, other4, 80), 0x100);
    CHECK_EQ(listener(&s, AF_INET, v4, 81), 0x300);
    CHECK_EQ(listener(&s, AF_INET, v4, 82), 0x400); /* :: accepts IPv4, too */
    CHECK_EQ(listener(&s, AF_INET6, v6, 82), 0x500);
    CHECK_EQ(listener(&s, AF_INET6, other6, 82), 0x400);
    CHECK_EQ(listener(&s, AF_INET6, v6, 80), 0x600);
    CHECK_EQ(listener(&s, AF_INET6, v6, 81), 0); /* 0.0.0.0 accepts no IPv6 */
    CHECK_EQ(listener(&s, AF_INET, v4, 83), 0);
    KernelSocksFree(&s);
    CHECK(s.slots == NULL && s.listeners == 0);
}

/* The list of listeners follows the states. */
static void sockets_1_3_states(void)
{
    KernelSocks s = {0};
    CHECK_EQ(KernelSockAdd(&s, 0x40)->state, TCP_STATE_CLOSE);
    for (uint64_t sk = 1; sk <= 5; sk++) {
        listenAt(&s, sk << 6, AF_INET, any, (uint16_t)sk);
    }
    CHECK_EQ(s.listeners, 5);
    KernelSockState(&s, KernelSockFind(&s, 2 << 6), TCP_STATE_LISTEN); /* again: no second entry */
    CHECK_EQ(s.listeners, 5);
    KernelSockState(&s, KernelSockFind(&s, 2 << 6), TCP_STATE_CLOSE);
    CHECK_EQ(s.listeners, 4);
    CHECK_EQ(KernelSockFind(&s, 2 << 6)->state, TCP_STATE_CLOSE);
    for (uint64_t sk = 1; sk <= 5; sk++) {
        CHECK_EQ(listener(&s, AF_INET, any, (uint16_t)sk), sk == 2 ? 0 : sk << 6);
    }
    KernelSockState(&s, KernelSockFind(&s, 2 << 6), TCP_STATE_ESTABLISHED);
    CHECK_EQ(s.listeners, 4);
    CHECK_EQ(KernelSockAdd(&s, 1 << 6)->state, TCP_STATE_LISTEN);
    KernelSocksFree(&s);
}

/* When the table grows, closed sockets go and the others stay. */
static void sockets_1_4_grows(void)
{
    KernelSocks s = {0};
    for (uint64_t sk = 1; sk <= 3000; sk++) {
        KernelSock *sock = KernelSockAdd(&s, sk << 6);
        if (sk % 100 == 0) {
            KernelSockState(&s, sock, TCP_STATE_ESTABLISHED);
        }
    }
    for (uint64_t sk = 100; sk <= 3000; sk += 100) {
        CHECK(KernelSockFind(&s, sk << 6) != NULL);
    }
    CHECK(KernelSockFind(&s, 1 << 6) == NULL);
    CHECK(s.capacity <= 512);
    KernelSocksFree(&s);
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void tasks_1_1_life(void)
{
    const uint64_t second = (uint64_t)1 << 31;
    KernelTasks t = {0};
    CHECK(KernelTaskFind(&t, 10) == NULL);
    KernelTaskAdd(&t, 10, 10);
    KernelTaskAdd(&t, 11, 10);
    KernelTaskAdd(&t, 12, 10);
    CHECK_EQ(KernelTaskFind(&t, 10)->threads, 3);
    CHECK_EQ(KernelTaskProcess(&t, 11, 5, false), 10);
    KernelTaskExit(&t, 11, 1000);
    KernelTaskExit(&t, 11, 2000); /* reported twice: counted once */
    CHECK_EQ(KernelTaskFind(&t, 10)->threads, 2);
    CHECK_EQ(KernelTaskFind(&t, 11)->exited, 1000);
    /* It is known for about a second after its end, and then no more: its id may be another thread's. */
    CHECK_EQ(KernelTaskProcess(&t, 11, 1000 + second - 1, false), 10);
    CHECK_EQ(KernelTaskProcess(&t, 11, 1000 + second, false), 0);
    CHECK_EQ(KernelTaskProcess(&t, 13, 0, false), 0);
    CHECK_EQ(KernelTaskProcess(&t, 0, 0, true), 0);
    /* The id is used again: by a thread without the old one's state. */
    KernelTaskAdd(&t, 12, 12);
    CHECK_EQ(KernelTaskProcess(&t, 12, 0, false), 12);
    CHECK_EQ(KernelTaskFind(&t, 12)->threads, 1);
    KernelTaskExit(&t, 99, 1);
    KernelTasksFree(&t);
    CHECK(t.slots == NULL && t.used == 0);
}

/* A thread that nobody announced is looked up in /proc, if its event passed the filter or all are traced. */
static void tasks_1_2_unknown(void)
{
    KernelTasks t = {0};
    uint32_t self = (uint32_t)getpid();
    CHECK_EQ(KernelTaskProcess(&t, self, 0, false), 0);
    CHECK_EQ(KernelTaskProcess(&t, self, 0, true), self);
    CHECK_EQ(KernelTaskProcess(&t, self, 0, false), self); /* known from now on */
    CHECK_EQ(KernelTaskProcess(&t, 0x7fffffff, 0, true), 0x7fffffff);
    KernelTasksFree(&t);
    t.all = true;
    CHECK_EQ(KernelTaskProcess(&t, self, 0, false), self);
    KernelTasksFree(&t);
}

static void countVisit(void *ctx, uint32_t tid)
{
    *(int *)ctx += tid != 0;
}

static void tasks_1_3_proc(void)
{
    KernelTasks t = {0};
    int visits = 0;
    uint32_t self = (uint32_t)getpid();
    int fresh = KernelTasksOfProcess(&t, self, countVisit, &visits);
    CHECK(fresh >= 1);
    CHECK_EQ(visits, fresh);
    CHECK_EQ(KernelTaskFind(&t, self)->pid, self);
    CHECK_EQ(KernelTasksOfProcess(&t, self, countVisit, &visits), 0);
    CHECK_EQ(visits, fresh);
    CHECK_EQ(KernelTasksOfProcess(&t, 0x7fffffff, NULL, NULL), 0);
    /* One that has ended, or was another process's, is new. */
    KernelTaskExit(&t, self, 7);
    CHECK_EQ(KernelTasksOfProcess(&t, self, NULL, NULL), 1);
    KernelTaskFind(&t, self)->pid = 1;
    CHECK_EQ(KernelTasksOfProcess(&t, self, NULL, NULL), 1);
    CHECK_EQ(KernelTaskFind(&t, self)->pid, self);
    KernelTasksFree(&t);
    KernelTasksOfAll(&t);
    CHECK(KernelTaskFind(&t, self) != NULL && KernelTaskFind(&t, (uint32_t)getppid()) != NULL);
    KernelTasksFree(&t);
}

/* When the table grows, ended threads go; a main thread stays while its process has others. */
static void tasks_1_4_grows(void)
{
    KernelTasks t = {0};
    KernelTaskAdd(&t, 1, 1);
    KernelTaskAdd(&t, 2, 1);
    KernelTaskExit(&t, 1, 10);
    for (uint32_t tid = 100; tid < 3000; tid++) {
        KernelTaskAdd(&t, tid, tid);
        KernelTaskExit(&t, tid, 10);
    }
    CHECK(KernelTaskFind(&t, 1) != NULL && KernelTaskFind(&t, 2) != NULL);
    CHECK(KernelTaskFind(&t, 100) == NULL);
    CHECK(t.capacity <= 512);
    KernelTasksFree(&t);
}

/* ---- Merge ----------------------------------------------------------------------------------- */

typedef struct Numbers {
    TraceStream stream; /* first */
    const uint64_t *ticks;
    int at, count;
} Numbers;

static bool nextNumber(TraceStream *stream)
{
    Numbers *n = (Numbers *)stream;
    if (n->at == n->count) {
        return false;
    }
    stream->event.ticks = n->ticks[n->at++];
    return true;
}

static void checkNext(TraceMerge *m, uint64_t until, uint64_t want)
{
    TraceEvent event = {0};
    CHECK_EQ(TraceMergeNext(m, until, &event), want != 0);
    CHECK_EQ(event.ticks, want);
}

static void merge_1_1_order(void)
{
    static const uint64_t a[] = {10, 40, 50}, b[] = {20, 30, 60}, c[] = {5};
    Numbers streams[3] = {{{.next = nextNumber}, a, 0, 3}, {{.next = nextNumber}, b, 0, 2},
            {{.next = nextNumber}, c, 0, 0}};
    TraceMerge *m = TraceMergeNew();
    for (int i = 0; i < 3; i++) {
        TraceMergeAdd(m, &streams[i].stream);
    }
    checkNext(m, UINT64_MAX, 0); /* nothing before the first refill */
    TraceMergeRefill(m);
    checkNext(m, 20, 10);
    checkNext(m, 20, 20); /* the limit is included */
    checkNext(m, 29, 0);
    checkNext(m, 29, 0);
    checkNext(m, 30, 30);
    checkNext(m, 100, 40);
    /* A stream that was empty is asked again by a refill only; what comes late is in order from then on. */
    streams[2].count = 1;
    streams[1].count = 3;
    checkNext(m, 100, 50);
    TraceMergeRefill(m);
    checkNext(m, 100, 5);
    checkNext(m, 100, 60);
    checkNext(m, 100, 0);
    CHECK(!TraceMergeMissed(m));
    streams[1].stream.missed = true;
    CHECK(TraceMergeMissed(m));
    CHECK(!TraceMergeMissed(m));
    TraceMergeFree(m);
    TraceMergeFree(NULL);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(sockets_1_1_addresses);
    CHECK_RUN(sockets_1_2_listener);
    CHECK_RUN(sockets_1_3_states);
    CHECK_RUN(sockets_1_4_grows);
    CHECK_RUN(tasks_1_1_life);
    CHECK_RUN(tasks_1_2_unknown);
    CHECK_RUN(tasks_1_3_proc);
    CHECK_RUN(tasks_1_4_grows);
    CHECK_RUN(merge_1_1_order);
    return CHECK_DONE();
}

#else

static void tables(void)
{
    SKIP("the kernel room is for Linux");
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(tables);
    return CHECK_DONE();
}

#endif
