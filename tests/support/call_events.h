/*
 * tests/support/call_events.h --
 *
 *	Made-up events of calls and of the kernel for the tests of flow/calls, whose times are in microseconds, and
 *	the tree that they result in as one line of text. For one file of a program, after check.h.
 *
 *	begin(merged);
 *	enter(0, 1, 1, "a", "::");
 *	leave(10, 1, 0);
 *	CHECK_STR(tree(), "a 10/10");
 *	finish();
 */
#ifndef ETW_TESTS_CALL_EVENTS_H
#define ETW_TESTS_CALL_EVENTS_H

#include "tests/support/sample_event.h"
#include "flow/calls/call_tree.h"
#include "semantics/declared_events.h"

enum { US = 1000, TID = 4711 };

/* What receives the events. */
#ifndef CALL_EVENTS_ADD
#define CALL_EVENTS_ADD(event) EtwCallsAdd(calls, event)
#endif

static EtwCalls *calls;
static EtwSchemaStore *store;
static uint32_t threadId, processId;

CHECK_UNUSED static void begin(EtwCallsConfig config)
{
    store = EtwSchemaStoreNew();
    calls = EtwCallsNew(&config, store);
    threadId = processId = TID;
}

CHECK_UNUSED static void finish(void)
{
    EtwCallsFree(calls);
    EtwSchemaStoreFree(store);
}

CHECK_UNUSED static void add(Sample *s, int64_t us)
{
    s->event.time = 1000000000 + us * US;
    s->event.pid = processId;
    s->event.tid = threadId;
    CALL_EVENTS_ADD(SampleEvent(s));
    SampleFree(s);
}

CHECK_UNUSED static void enterFrom(int64_t us, uint64_t id, int depth, const char *command,
        const char *context, const char *file, uint32_t line)
{
    static const Etw_Field fields[] = {FIELD("CallId", ETW_IN_UINT64),
            FIELD("Depth", ETW_IN_UINT16), TEXT_FIELD("Command"), TEXT_FIELD("Context"),
            TEXT_FIELD("File"), FIELD("Line", ETW_IN_UINT32)};
    Sample *s = SampleNew("Tcl-Script", "Enter", fields, 6);
    SampleInt(s, id, 8);
    SampleInt(s, (uint64_t)depth, 2);
    SampleText(s, command);
    SampleText(s, context);
    SampleText(s, file);
    SampleInt(s, line, 4);
    add(s, us);
}

CHECK_UNUSED static void enter(
        int64_t us, uint64_t id, int depth, const char *command, const char *context)
{
    enterFrom(us, id, depth, command, context, "", 0);
}

CHECK_UNUSED static void leave(int64_t us, uint64_t id, int code)
{
    static const Etw_Field fields[] = {FIELD("CallId", ETW_IN_UINT64),
            FIELD("Depth", ETW_IN_UINT16), FIELD("Code", ETW_IN_INT32),
            FIELD("Duration", ETW_IN_UINT64), TEXT_FIELD("Command"), TEXT_FIELD("Result")};
    Sample *s = SampleNew("Tcl-Script", "Leave", fields, 6);
    SampleInt(s, id, 8);
    SampleInt(s, 1, 2);
    SampleInt(s, (uint64_t)code, 4);
    SampleInt(s, 0, 8);
    SampleText(s, "x");
    SampleText(s, "");
    add(s, us);
}

CHECK_UNUSED static void syscallEvent(int64_t us, const char *name, uint32_t number)
{
    static const Etw_Field fields[] = {FIELD("Syscall", ETW_IN_UINT32)};
    Sample *s = SampleNew("Linux-systemcall", name, fields, 1);
    SampleInt(s, number, 4);
    add(s, us);
}

CHECK_UNUSED static void switchTo(int64_t us, uint32_t from, uint32_t to, uint16_t state)
{
    static const Etw_Field fields[] = {FIELD("OldThreadId", ETW_IN_UINT32),
            FIELD("NewThreadId", ETW_IN_UINT32), FIELD("OldState", ETW_IN_UINT16)};
    Sample *s = SampleNew("Linux-contextswitch", "Switch", fields, 3);
    SampleInt(s, from, 4);
    SampleInt(s, to, 4);
    SampleInt(s, state, 2);
    add(s, us);
}

/* by: the thread that runs; from: 0 itself, 1 a softirq, 2 an interrupt on top of it. */
CHECK_UNUSED static void readyThread(int64_t us, uint32_t tid, uint32_t by, uint8_t from)
{
    static const Etw_Field fields[] = {FIELD("ThreadId", ETW_IN_UINT32),
            FIELD("ByThreadId", ETW_IN_UINT32), FIELD("Interrupt", ETW_IN_UINT8)};
    Sample *s = SampleNew("Linux-dispatcher", "ReadyThread", fields, 3);
    SampleInt(s, tid, 4);
    SampleInt(s, by, 4);
    SampleInt(s, from, 1);
    add(s, us);
}

CHECK_UNUSED static void sendBytes(int64_t us, int32_t size)
{
    static const Etw_Field fields[] = {FIELD("Size", ETW_IN_INT32)};
    Sample *s = SampleNew("Linux-tcpip", "Send", fields, 1);
    SampleInt(s, (uint32_t)size, 4);
    add(s, us);
}

CHECK_UNUSED static void other(int64_t us, const char *provider, const char *event)
{
    static const Etw_Field fields[] = {FIELD("Size", ETW_IN_INT32)};
    Sample *s = SampleNew(provider, event, fields, 1);
    SampleInt(s, 1, 4);
    add(s, us);
}

CHECK_UNUSED static void stopOf(int64_t us, const char *provider)
{
    static const Etw_Field fields[] = {FIELD("ExitCode", ETW_IN_INT32)};
    Sample *s = SampleNew(provider, "Stop", fields, 1);
    SampleInt(s, 0, 4);
    add(s, us);
}

/* ---- What came out, in one line: name TOTAL/SELF (children) ----------------------------------- */

CHECK_UNUSED static void describe(EtwText *out, const EtwCallNode *node)
{
    size_t count;
    const EtwCallNode **list = EtwCallChildren(NULL, node, &count, NULL);
    for (size_t i = 0; i < count; i++) {
        const EtwCallStats *s = &list[i]->stats;
        EtwTextPrintf(out, "%s%s", i > 0 ? " " : "", list[i]->row->name);
        if (s->calls > 1) {
            EtwTextPrintf(out, "*%u", (unsigned)s->calls);
        }
        EtwTextPrintf(out, " %u/%u%s%s%s%s", (unsigned)(s->total / US), (unsigned)(s->self / US),
                s->errors ? "!error" : "", s->cut ? "!cut" : "", s->asleep ? "!asleep" : "",
                s->lost ? "!lost" : "");
        if (list[i]->first != NULL) {
            EtwTextStr(out, " (");
            describe(out, list[i]);
            EtwTextChar(out, ')');
        }
    }
    EtwFree(list);
}

CHECK_UNUSED static const char *tree(void)
{
    static char capacity[2000];
    EtwText out = {0};
    EtwCallsEnd(calls);
    for (const EtwCallNode *t = calls->threads; t != NULL; t = t->next) {
        EtwTextStr(&out, t == calls->threads ? "" : " | ");
        describe(&out, t);
    }
    EtwTextChar(&out, 0);
    snprintf(capacity, sizeof capacity, "%s", out.data);
    EtwTextFree(&out);
    return capacity;
}

CHECK_UNUSED static const EtwCallRow *rowOf(const char *name)
{
    const EtwCallRow *row = calls->rows;
    while (row != NULL && strcmp(row->name, name) != 0) {
        row = row->next;
    }
    return row;
}

CHECK_UNUSED static const EtwCallsConfig merged = {.tree = true};
CHECK_UNUSED static const EtwCallsConfig single = {.tree = true, .single = true};

#endif
