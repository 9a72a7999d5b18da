/*
 * tests/flow/test_path.c --
 *
 *	flow/path: the critical path through threads, locks, queues and children, made up of single events; that its
 *	segments add up, for any events.
 */
#include "tests/support/check.h"
#include "flow/path/path.h"

static EtwPath *thePath;
static bool begins, ends; /* the next event */
static void take(const EtwEvent *event)
{
    EtwPathAdd(thePath, event, begins, ends);
    begins = ends = false;
}
#define CALL_EVENTS_ADD(event) take(event)
#include "tests/support/call_events.h"

enum { FUTEX = 202, READ = 0, POLL = 7, NANOSLEEP = 35, FLOCK = 73 };

static void beginPath(void)
{
    begin(merged);
    thePath = EtwPathNew(store);
}

static void finishPath(void)
{
    EtwPathFree(thePath);
    thePath = NULL;
    finish();
}

static void as(uint32_t tid)
{
    threadId = processId = tid;
}

/* The thread that runs has an event. */
static void event(int64_t us, uint32_t tid)
{
    as(tid);
    other(us, "P", "E");
}

static void call(int64_t us, uint32_t tid, uint32_t number)
{
    as(tid);
    syscallEvent(us, "Enter", number);
}

/* The thread leaves its CPU, and waits. */
static void sleeps(int64_t us, uint32_t tid)
{
    as(tid);
    switchTo(us, tid, 0, 1);
}

static void wakes(int64_t us, uint32_t tid, uint32_t woken)
{
    as(tid);
    readyThread(us, woken, tid, 0);
}

static void resumes(int64_t us, uint32_t tid)
{
    as(tid);
    switchTo(us, 0, tid, 0);
}

static void started(int64_t us, uint32_t creator, uint32_t pid)
{
    static const Etw_Field fields[] = {FIELD("ParentId", ETW_IN_UINT32),
            FIELD("ProcessId", ETW_IN_UINT32), TEXT_FIELD("Command")};
    as(creator);
    Sample *s = SampleNew("Linux-process", "Start", fields, 3);
    SampleInt(s, creator, 4);
    SampleInt(s, pid, 4);
    SampleText(s, "child");
    add(s, us);
}

static void callback(int64_t us, uint32_t tid, uint64_t queuedUs)
{
    static const Etw_Field fields[] = {FIELD("CallId", ETW_IN_UINT64),
            FIELD("Depth", ETW_IN_UINT16), TEXT_FIELD("Command"), TEXT_FIELD("Context"),
            TEXT_FIELD("Kind"), FIELD("Queued", ETW_IN_UINT64)};
    as(tid);
    Sample *s = SampleNew("Tcl-Script", "CallbackEnter", fields, 6);
    SampleInt(s, 900, 8);
    SampleInt(s, 1, 2);
    SampleText(s, "tick");
    SampleText(s, "::");
    SampleText(s, "after");
    SampleInt(s, queuedUs * US, 8);
    add(s, us);
}

/* FROM-TO TID KIND [CALL] [lock HOLDER CALL]; ... */
static const char *seen(void)
{
    static char line[4000];
    size_t count;
    const EtwPathSegment *list = EtwPathSegments(thePath, &count);
    EtwText out = {0};
    for (size_t i = 0; i < count; i++) {
        const EtwPathSegment *s = &list[i];
        EtwTextPrintf(&out, "%s%lld-%lld %u %s", i > 0 ? "; " : "",
                (long long)(s->from - 1000000000) / US, (long long)(s->to - 1000000000) / US,
                s->tid, EtwPathKindName(s->kind));
        EtwTextPrintf(&out, "%s%s", s->call ? " " : "", s->call ? s->call : "");
        if (s->role != ETW_PATH_WORK) {
            EtwTextPrintf(&out, " [%s %u%s%s]", EtwPathRoleName(s->role), s->holderTid,
                    s->holderCall ? " " : "", s->holderCall ? s->holderCall : "");
        }
    }
    EtwTextChar(&out, '\0');
    snprintf(line, sizeof line, "%s", out.data);
    EtwTextFree(&out);
    return line;
}

/* Each begins where the one before ends. */
static void checkSum(void)
{
    size_t count;
    const EtwPathSegment *list = EtwPathSegments(thePath, &count);
    int64_t at = EtwPathBegin(thePath)->time;
    for (size_t i = 0; i < count; i++) {
        CHECK_EQ(list[i].from, at);
        CHECK(list[i].to > list[i].from);
        at = list[i].to;
    }
    CHECK_EQ(at, EtwPathEnd(thePath)->time);
}

#define FIND(want)                                                                                 \
    do {                                                                                           \
        CHECK_EQ(EtwPathFind(thePath, true, true), ETW_PATH_FOUND);                                \
        CHECK_STR(seen(), want);                                                                   \
        checkSum();                                                                                \
    } while (0)

/* Each thread waits for the one before. What the last ones waited for before the request does not matter. */
static void pipeline(void)
{
    beginPath();
    event(0, 1);
    call(0, 2, READ);
    sleeps(1, 2);
    call(2, 3, READ);
    sleeps(3, 3);
    begins = true;
    event(10, 1);
    wakes(100, 1, 2);
    resumes(110, 2);
    wakes(200, 2, 3);
    resumes(205, 3);
    ends = true;
    event(250, 3);
    FIND("10-100 1 run; 100-110 2 ready; 110-200 2 run; 200-205 3 ready; 205-250 3 run");
    finishPath();
}

/* The holder of the lock has nothing to do with the request: it is on the path for the time of the wait only. */
static void lockOfAnother(void)
{
    beginPath();
    as(2);
    enter(0, 1, 1, "save x", "::");
    begins = true;
    event(10, 1);
    call(15, 1, FLOCK);
    sleeps(20, 1);
    call(30, 2, NANOSLEEP);
    sleeps(40, 2);
    as(2);
    readyThread(60, 2, 0, 2);
    resumes(65, 2);
    wakes(80, 2, 1);
    resumes(90, 1);
    ends = true;
    event(100, 1);
    FIND("10-20 1 run; 20-40 2 run save [lock 2 save]; 40-60 2 timer save [lock 2 save]; "
         "60-65 2 ready save [lock 2 save]; 65-80 2 run save [lock 2 save]; 80-90 1 ready; "
         "90-100 1 run");
    size_t count;
    EtwPathCause *causes = EtwPathCauses(thePath, &count);
    REQUIRE(count == 3);
    CHECK_STR(causes[0].what, "lock held by PID 2 in save");
    CHECK_EQ(causes[0].ns, 60 * US);
    CHECK_EQ(causes[0].count, 4);
    EtwPathCausesFree(causes, count);
    finishPath();
}

/* With futex, a thread of the request passes it on: that is no lock. The same call of a stranger is one. */
static void handover(void)
{
    for (int stranger = 0; stranger < 2; stranger++) {
        beginPath();
        call(0, 2, FUTEX);
        sleeps(1, 2);
        begins = true;
        event(10, 1);
        if (!stranger) {
            wakes(20, 1, 2);
        }
        call(30, 1, FUTEX);
        sleeps(35, 1);
        resumes(40, 2);
        wakes(60, 2, 1);
        resumes(62, 1);
        ends = true;
        event(70, 1);
        if (stranger) {
            FIND("10-35 1 run; 35-40 2 wait [lock 2]; 40-60 2 run [lock 2]; 60-62 1 ready; 62-70 1 "
                 "run");
        } else {
            FIND("10-20 1 run; 20-40 2 ready; 40-60 2 run; 60-62 1 ready; 62-70 1 run");
        }
        finishPath();
    }
}

/* Two clients of one server: each request's path is its own. */
static void concurrent(void)
{
    for (int which = 1; which <= 2; which++) {
        beginPath();
        call(0, 3, POLL);
        sleeps(1, 3);
        begins = true;
        event(10, 1);
        wakes(20, 1, 3);
        call(21, 1, READ);
        sleeps(22, 1);
        resumes(25, 3);
        begins = true;
        event(26, 2);
        call(30, 2, READ);
        sleeps(31, 2);
        wakes(50, 3, 1);
        resumes(52, 1);
        wakes(80, 3, 2);
        ends = which == 1;
        event(60, 1);
        resumes(85, 2);
        ends = which == 2;
        event(90, 2);
        if (which == 1) {
            FIND("10-20 1 run; 20-25 3 ready; 25-50 3 run; 50-52 1 ready; 52-60 1 run");
        } else { /* the server had not noticed it: no chain leads there, but the thread's own time */
            FIND("26-31 2 run; 31-80 3 run; 80-85 2 ready; 85-90 2 run");
        }
        finishPath();
    }
}

/* A child works for its parent, which created it and waits for its end. */
static void children(void)
{
    beginPath();
    begins = true;
    event(0, 1);
    started(10, 1, 2);
    call(12, 1, 61);
    sleeps(15, 1);
    resumes(20, 2);
    event(21, 2);
    wakes(70, 2, 1);
    resumes(75, 1);
    ends = true;
    event(80, 1);
    FIND("0-10 1 run; 10-20 2 ready; 20-70 2 run; 70-75 1 ready; 75-80 1 run");
    finishPath();
}

/* A callback that is due waits for the one before it. */
static void queues(void)
{
    beginPath();
    begins = true;
    event(0, 1);
    as(1);
    enter(10, 1, 1, "slow", "::");
    leave(90, 1, 0);
    callback(100, 1, 60);
    ends = true;
    event(120, 1);
    CHECK_EQ(EtwPathFind(thePath, true, true), ETW_PATH_FOUND);
    checkSum();
    CHECK_MSG(
            strstr(seen(), "10-40 1 run slow; 40-90 1 run slow [queue 1]; 90-100 1 run [queue 1]; "
                           "100-120 1 run ") != NULL,
            "%s", seen());
    finishPath();
}

/* Waits that no traced thread has ended. */
static void otherWaits(void)
{
    beginPath();
    begins = true;
    event(0, 1);
    call(5, 1, NANOSLEEP);
    sleeps(10, 1);
    as(1);
    readyThread(20, 1, 0, 2);
    resumes(25, 1);
    call(26, 1, 45); /* recvfrom */
    sleeps(30, 1);
    as(1);
    readyThread(40, 1, 0, 1);
    resumes(40, 1);
    call(41, 1, FLOCK);
    sleeps(50, 1);
    as(1);
    readyThread(60, 1, 99, 0); /* of a process that is not traced */
    resumes(60, 1);
    call(61, 1, READ);
    sleeps(70, 1);
    resumes(80, 1);
    as(1);
    switchTo(85, 1, 0, 0); /* preempted */
    resumes(87, 1);
    ends = true;
    event(90, 1);
    FIND("0-10 1 run; 10-20 1 timer; 20-25 1 ready; 25-30 1 run; 30-40 1 network; 40-50 1 run; "
         "50-60 1 other; 60-70 1 run; 70-80 1 wait; 80-85 1 run; 85-87 1 ready; 87-90 1 run");
    finishPath();
}

static void results(void)
{
    beginPath();
    CHECK_EQ(EtwPathFind(thePath, false, false), ETW_PATH_EMPTY);
    finishPath();
    beginPath();
    event(0, 1);
    begins = true;
    event(5, 2);
    ends = true;
    event(10, 1);
    CHECK_EQ(EtwPathFind(thePath, true, true), ETW_PATH_APART);
    CHECK_EQ(EtwPathFind(thePath, false, false), ETW_PATH_FOUND);
    CHECK_STR(seen(), "0-10 1 run");
    CHECK(!EtwPathHasSwitches(thePath) && !EtwPathHasWakes(thePath));
    finishPath();
    beginPath();
    event(0, 1);
    CHECK_EQ(EtwPathFind(thePath, true, false), ETW_PATH_NO_BEGIN);
    CHECK_EQ(EtwPathFind(thePath, false, true), ETW_PATH_NO_END);
    finishPath();
}

/* Of any number of begin events, the latest that leads to the end: the later ones are of threads that have nothing to do with it. */
static void manyBegins(void)
{
    enum { MANY = 1000 };
    beginPath();
    call(0, 2, READ);
    sleeps(1, 2);
    begins = true;
    event(5, 1);
    begins = true;
    event(10, 1);
    wakes(20, 1, 2);
    resumes(30, 2);
    for (int i = 0; i < MANY; i++) {
        begins = true;
        event(31 + i, 3 + (uint32_t)i % 3);
        if (i % 2 == 0) {
            begins = true;
            event(31 + i, 1);
        }
    }
    ends = true;
    event(31 + MANY, 2);
    FIND("10-20 1 run; 20-30 2 ready; 30-1031 2 run");
    finishPath();
}

/* Whatever the events are, the path ends and its segments add up. */
static void anyEvents(void)
{
    uint32_t seed = 1;
    for (int round = 0; round < 400; round++) {
        beginPath();
        int64_t us = 0;
        for (int i = 0; i < 120; i++) {
            seed = seed * 1664525u + 1013904223u;
            uint32_t r = seed >> 8, tid = 1 + r % 5, to = 1 + r / 8 % 5;
            us += r / 64 % 3;
            begins = r / 1024 % 16 == 0;
            ends = r / 1024 % 16 == 1;
            switch (r / 16384 % 8) {
            case 0:
                event(us, tid);
                break;
            case 1:
                call(us, tid, to == 1 ? FLOCK : READ);
                break;
            case 2:
                sleeps(us, tid);
                break;
            case 3:
            case 4:
                wakes(us, tid, to);
                break;
            case 5:
                resumes(us, tid);
                break;
            case 6:
                started(us, tid, 1 + to);
                break;
            default:
                callback(us, tid, to * 3);
            }
        }
        EtwText out = {0};
        if (EtwPathFind(thePath, round % 2 == 0, round % 3 == 0) == ETW_PATH_FOUND) {
            checkSum();
            EtwPathText(thePath, &out);
            EtwPathJson(thePath, &out);
        }
        EtwTextFree(&out);
        finishPath();
    }
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(pipeline);
    CHECK_RUN(lockOfAnother);
    CHECK_RUN(handover);
    CHECK_RUN(concurrent);
    CHECK_RUN(children);
    CHECK_RUN(queues);
    CHECK_RUN(otherWaits);
    CHECK_RUN(results);
    CHECK_RUN(manyBegins);
    CHECK_RUN(anyEvents);
    return CHECK_DONE();
}
