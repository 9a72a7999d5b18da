/*
 * tests/support/kernel_records.h --
 *
 *	Tracepoint records without a kernel: passes records with the fields that a group's definition names to its
 *	function and keeps the events that it emits as text, decoded by the declaration of the events. For one
 *	file of a program, after check.h.
 *
 *	begin();
 *	fire("irq_handler_exit", 101, "irq:4=9 ret:4=1");
 *	EXPECT("interrupt Exit 100/101 Vector=9 Handled=1 stack=1");
 *	static const Step steps[] = {STEP("irq_handler_exit", 101, "irq:4=9 ret:4=1", "interrupt Exit ...")};
 *	PLAY(steps);
 *	end();
 */
#ifndef ETW_TESTS_KERNEL_RECORDS_H
#define ETW_TESTS_KERNEL_RECORDS_H

#include "base/alloc.h"
#include "base/text.h"
#include "semantics/declared_events.h"
#include "unix/kernel/kernel_int.h"
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static EtwKernel *k;
static char events[EVENTS]; /* their addresses stand for defined events */
static EtwText seen;
static uint64_t now;
static uint8_t flags; /* common_flags of the next records */
static bool
        anyInstance; /* the next records come from an instance that does not filter by process */

/* ---- Events as text -------------------------------------------------------------------------- */

static bool isWindows(int id)
{
    return id >= EV_WIN_SENT && id < EV_FILE_CREATE;
}

static const EtwDeclaredEvent *declaredOf(int id, const char **group)
{
    for (int i = 0; i < GROUPS; i++) {
        char name[64];
        snprintf(name, sizeof name, "Linux-%s", kernelGroups[i].name);
        const EtwDeclaredProvider *p = EtwDeclaredFind(name);
        int first = (int)kernelGroups[i].firstEvent;
        if (p != NULL && id >= first && id < first + p->eventCount) {
            *group = kernelGroups[i].name;
            return &p->events[id - first];
        }
    }
    return NULL;
}

/* Appends a value; returns its size. */
static size_t addValue(const EtwDeclaredField *f, const uint8_t *at)
{
    char address[64];
    bool hex = f->in == ETW_IN_HEX32 || f->in == ETW_IN_HEX64;
    switch (f->in) {
    case ETW_IN_UINT8:
        EtwTextPrintf(&seen, "%u", *at);
        return 1;
    case ETW_IN_UINT16:
        EtwTextPrintf(&seen, "%u", f->out == ETW_OUT_PORT ? ntohs(EtwLoad16(at)) : EtwLoad16(at));
        return 2;
    case ETW_IN_UINT32:
        if (f->out == ETW_OUT_IPV4) {
            EtwTextStr(&seen, inet_ntop(AF_INET, at, address, sizeof address));
        } else {
            EtwTextPrintf(&seen, "%u", EtwLoad32(at));
        }
        return 4;
    case ETW_IN_INT32:
        EtwTextPrintf(&seen, "%d", (int32_t)EtwLoad32(at));
        return 4;
    case ETW_IN_INT64:
        EtwTextPrintf(&seen, "%lld", (long long)EtwLoad64(at));
        return 8;
    case ETW_IN_UINT64:
    case ETW_IN_HEX64:
        EtwTextPrintf(&seen, hex ? "0x%llx" : "%llu", (unsigned long long)EtwLoad64(at));
        return 8;
    case ETW_IN_HEX32:
        EtwTextPrintf(&seen, "0x%x", EtwLoad32(at));
        return 4;
    case ETW_IN_BINARY:
        EtwTextStr(&seen, inet_ntop(AF_INET6, at + 2, address, sizeof address));
        return 2u + EtwLoad16(at);
    default:
        EtwTextPrintf(&seen, "%.*s", EtwLoad16(at), (const char *)at + 2);
        return 2u + EtwLoad16(at);
    }
}

static void onEmit(void *ctx, const EtwKernelRecord *r)
{
    (void)ctx;
    int id = (int)((const char *)r->event - events);
    const char *group = "?";
    EtwTextPrintf(&seen, "%s", seen.size > 0 ? "\n" : "");
    CHECK(id >= 0 && id < EVENTS);
    CHECK_EQ(r->ticks, now);
    CHECK_EQ(r->cpu, 3);
    if (isWindows(id)) {
        EtwTextPrintf(&seen, "windows+%d %d/%d", id - EV_WIN_SENT, (int)r->pid, (int)r->tid);
        for (size_t i = 0; i < r->size; i++) {
            EtwTextPrintf(&seen, i % 4 == 0 ? " %02x" : "%02x", r->payload[i]);
        }
        return;
    }
    const EtwDeclaredEvent *event = declaredOf(id, &group);
    REQUIRE(event != NULL);
    EtwTextPrintf(&seen, "%s %s %d/%d", group, event->name, (int)r->pid, (int)r->tid);
    const uint8_t *at = r->payload;
    for (int i = 0; i < event->fieldCount; i++) {
        EtwTextPrintf(&seen, " %s=", event->fields[i].name);
        at += addValue(&event->fields[i], at);
    }
    CHECK_EQ(at - r->payload, r->size);
    if (r->stackCount != 0) {
        EtwTextPrintf(&seen, " stack=%d", r->stackCount);
    }
}

/* The events since the last call. */
#define EXPECT(want) expect(want, __LINE__)
static void expect(const char *want, int line)
{
    EtwTextChar(&seen, '\0');
    CheckStr(seen.data, want, __FILE__, line, "events");
    seen.size = 0;
}

/* ---- Records --------------------------------------------------------------------------------- */

static const KernelTracepointDef *inList(const KernelTracepointDef *const *list, const char *name)
{
    for (; list != NULL && *list != NULL; list++) {
        if (strcmp((*list)->name, name) == 0) {
            return *list;
        }
    }
    return NULL;
}

static const KernelTracepointDef *defOf(const char *name)
{
    static const KernelTracepointDef *const transfers[] = {
            &kernelSendPoint, &kernelReceivePoint, NULL};
    const KernelTracepointDef *def = inList(transfers, name);
    def = def != NULL ? def : inList(kernelPathPoints, name);
    for (int i = 0; def == NULL && i < GROUPS; i++) {
        def = inList(kernelGroups[i].points, name);
        def = def != NULL ? def : inList(kernelGroups[i].extras, name);
    }
    return def;
}

static unsigned hexDigit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/*
 * Pass a record of a tracepoint to its function. FIELDS is a list of NAME=VALUE. A value is a number, of 8 bytes, or of N
 * bytes with NAME:N=VALUE; 'text' in 16 bytes; ~text, a __data_loc; @hex, bytes. What is not in the list is missing in
 * the record, which only fields with '?' may be.
 */
static void fire(const char *name, uint32_t tid, const char *fields)
{
    const KernelTracepointDef *def = defOf(name);
    uint8_t data[512] = {0};
    size_t size = KERNEL_COMMON, texts = 256;
    KernelTracepoint point = {.instance = anyInstance ? IN_ANY : IN_MAIN};
    TraceEvent event = {.ticks = now, .data = data, .cpu = 3, .stackCount = 1};
    REQUIRE(def != NULL);
    point.def = def;
    for (int i = 0; def->fields[i] != NULL; i++) {
        const char *wanted = def->fields[i] + (def->fields[i][0] == '?');
        size_t length = strlen(wanted), bytes = 8;
        const char *at = fields;
        while (at != NULL &&
                (strncmp(at, wanted, length) != 0 || (at[length] != '=' && at[length] != ':'))) {
            at = strchr(at, ' ');
            at = at != NULL ? at + 1 : NULL;
        }
        if (at == NULL) {
            CHECK_MSG(def->fields[i][0] == '?', "%s has no %s", name, wanted);
            continue;
        }
        at += length;
        if (*at == ':') {
            bytes = (size_t)strtoul(at + 1, (char **)&at, 10);
        }
        at++;
        size_t end = strcspn(at, " ");
        if (*at == '\'') {
            bytes = 16;
            memcpy(data + size, at + 1, end - 2);
        } else if (*at == '~') {
            bytes = 4;
            EtwStore32(data + size, (uint32_t)((end - 1) << 16 | texts));
            memcpy(data + texts, at + 1, end - 1);
            texts += end - 1;
        } else if (*at == '@') {
            bytes = (end - 1) / 2;
            for (size_t b = 0; b < bytes; b++) {
                data[size + b] = (uint8_t)(hexDigit(at[1 + 2 * b]) << 4 | hexDigit(at[2 + 2 * b]));
            }
        } else {
            uint64_t number = *at == '-' ? (uint64_t)strtoll(at, NULL, 0) : strtoull(at, NULL, 0);
            memcpy(data + size, &number, bytes);
        }
        point.f[i] = (KernelField){(uint16_t)size, (uint16_t)bytes, false};
        size += bytes;
    }
    data[KERNEL_COMMON_FLAGS] = flags;
    EtwStore32(data + KERNEL_COMMON_PID, tid);
    event.size = (uint32_t)texts;
    def->proc(k, &point, &event);
}

/* A session that traces process 100 with its thread 101, and process 200; all events but Windows' are enabled. */
static void begin(void)
{
    k = EtwAlloc(sizeof *k);
    k->emit = onEmit;
    for (int i = 0; i < EVENTS; i++) {
        k->events[i] = isWindows(i) ? NULL : (Etw_Event *)&events[i];
    }
    now = 5000;
    flags = 0;
    anyInstance = false;
    seen.size = 0;
    KernelTaskAdd(&k->tasks, 100, 100);
    KernelTaskAdd(&k->tasks, 101, 100);
    KernelTaskAdd(&k->tasks, 200, 200);
}

static void end(void)
{
    EXPECT("");
    KernelCallsFree(k);
    KernelFilesFree(k);
    KernelHeapFree(k);
    KernelTasksFree(&k->tasks);
    KernelSocksFree(&k->socks);
    EtwFree(k);
}

/* A record, and the events since the last step that has such. */
typedef struct Step {
    const char *point;
    uint32_t tid;
    const char *fields;
    const char *events; /* NULL: compared by the next step */
    int line;
} Step;
#define STEP(point, tid, fields, events)                                                           \
    {                                                                                              \
        point, tid, fields, events, __LINE__                                                       \
    }

#define PLAY(steps) play(steps, sizeof(steps) / sizeof *(steps))
CHECK_UNUSED static void play(const Step *steps, size_t count)
{
    for (const Step *s = steps; s < steps + count; s++) {
        fire(s->point, s->tid, s->fields);
        if (s->events != NULL) {
            expect(s->events, s->line);
        }
    }
}

/* Only these events are enabled. */
CHECK_UNUSED static void only(int first, int second)
{
    for (int i = 0; i < EVENTS; i++) {
        k->events[i] = i == first || i == second ? (Etw_Event *)&events[i] : NULL;
    }
}

#endif
