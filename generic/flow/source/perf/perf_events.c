/*
 * flow/source/perf/perf_events.c --
 *
 *	Events in the form of records of an .etl file, as a session writes them: with their description
 *	(TraceLogging) and their stack.
 */
#include "flow/source/perf/perf_int.h"
#include "etl/record.h"

static const struct {
    const char *provider, *event;
} declaredNames[PERF_DECLARED] = {
        [PERF_HOST] = {ETW_SESSION_PROVIDER, "Host"},
        [PERF_PROGRAM] = {ETW_SESSION_PROVIDER, "Process"},
        [PERF_PROCESS_START] = {"Linux-process", "Start"},
        [PERF_PROCESS_EXEC] = {"Linux-process", "Exec"},
        [PERF_PROCESS_STOP] = {"Linux-process", "Stop"},
        [PERF_THREAD_START] = {"Linux-thread", "Start"},
        [PERF_THREAD_STOP] = {"Linux-thread", "Stop"},
        [PERF_SWITCH] = {"Linux-contextswitch", "Switch"},
        [PERF_CALL_ENTER] = {"Linux-systemcall", "Enter"},
        [PERF_CALL_EXIT] = {"Linux-systemcall", "Exit"},
        [PERF_PROFILE] = {"Linux-profile", "Sample"},
        [PERF_IMAGE_LOAD] = {"Linux-imageload", "Load"},
        [PERF_IMAGE_UNLOAD] = {"Linux-imageload", "Unload"},
        [PERF_IMAGE_START] = {"Linux-imageload", "DCStart"},
};

/* ---- Classes --------------------------------------------------------------------------------- */

PerfClass *PerfClassNew(
        const char *provider, const Etw_EventDesc *desc, const Etw_Field *fields, int count)
{
    enum { META_MAX = 0xF000 };
    PerfClass *class = EtwAlloc(sizeof *class);
    EtwTraceLoggingTraits(&class->traits, provider, NULL);
    if (EtwTraceLoggingEncode(&class->meta, desc->name, fields, count, NULL) != ETW_OK ||
            class->meta.size + class->traits.size > META_MAX) {
        PerfClassFree(class);
        return NULL;
    }
    class->model = (EtwEvent){.kind = ETL_EVENT64,
            .pointerSize = 8,
            .desc = {.channel = ETL_CHANNEL_TRACELOGGING,
                    .level = desc->level,
                    .opcode = desc->opcode,
                    .keyword = desc->keyword},
            .traits = (const uint8_t *)class->traits.data,
            .traitsSize = (uint32_t) class->traits.size,
            .meta = (const uint8_t *)class->meta.data,
            .metaSize = (uint32_t) class->meta.size};
    EtwGuidFromName(provider, &class->model.provider);
    return class;
}

void PerfClassFree(PerfClass *class)
{
    if (class != NULL) {
        EtwTextFree(&class->traits);
        EtwTextFree(&class->meta);
        EtwFree(class);
    }
}

static PerfClass *declaredClass(PerfDeclared which)
{
    const EtwDeclaredProvider *provider = EtwDeclaredFind(declaredNames[which].provider);
    Etw_Field fields[ETW_DECLARED_FIELDS_MAX];
    Etw_EventDesc desc;
    for (int i = 0; i < provider->eventCount; i++) {
        if (strcmp(provider->events[i].name, declaredNames[which].event) == 0) {
            int count = EtwDeclaredFields(&provider->events[i], &desc, fields);
            return PerfClassNew(provider->name, &desc, fields, count);
        }
    }
    return NULL;
}

/* ---- Records --------------------------------------------------------------------------------- */

/* ns since 1970, or perf's own time when the file does not relate the two. */
static int64_t wallOf(const EtwPerfReader *r, uint64_t time)
{
    return (int64_t)(time + r->wallOffset);
}

void PerfEmit(EtwPerfReader *r, const PerfClass *class, const PerfMoment *m)
{
    EtwEvent event = class->model;
    event.time = event.ticks = wallOf(r, m->time != 0 ? m->time : r->lastTime);
    event.pid = m->pid;
    event.tid = m->tid;
    event.cpu = m->cpu;
    event.payload = (const uint8_t *)r->payload.data;
    event.payloadSize = (uint32_t)r->payload.size;
    event.stack = m->stackCount != 0 ? m->stack : NULL;
    event.stackCount = m->stackCount;
    size_t size = r->payload.size <= ETL_MAX_RECORD ? EtlRecordSize(&event) : 0;
    if (size == 0 && r->payload.size <= ETL_MAX_RECORD) { /* without its stack it may fit */
        event.stack = NULL;
        event.stackCount = 0;
        size = EtlRecordSize(&event);
    }
    r->payload.size = 0;
    if (size == 0) {
        r->undelivered++;
        return;
    }
    if (r->outCount == r->outCapacity) {
        r->outCapacity = r->outCapacity != 0 ? 2 * r->outCapacity : 64;
        r->outs = EtwRealloc(r->outs, r->outCapacity * sizeof *r->outs);
    }
    EtwTextReserve(&r->records, size);
    uint8_t *out = (uint8_t *)r->records.data + r->records.size;
    EtlRecordBuild(&event, out, size);
    r->outs[r->outCount++] = (PerfOut){r->records.size, EtwLoad16(out), event.time, m->cpu};
    r->records.size += size;
}

void PerfEmitDeclared(EtwPerfReader *r, PerfDeclared which, const PerfMoment *moment)
{
    if (r->declared[which] == NULL) {
        r->declared[which] = declaredClass(which);
    }
    PerfEmit(r, r->declared[which], moment);
}

/* The first event, as in a session. */
void PerfEmitHost(EtwPerfReader *r)
{
    PerfMoment moment = {.pid = ETW_NO_ID, .tid = ETW_NO_ID}; /* perf's own is not in the file */
    EtwText system = {0};
    EtwTextPrintf(
            &system, "Linux %s %s", r->release ? r->release : "", r->machine ? r->machine : "");
    PerfPutText(r, r->host ? r->host : "");
    PerfPutBytes(r, system.data, system.size);
    PerfPutText(r, "");
    PerfPut32(r, r->cpus);
    PerfPutText(r, r->hasWall ? "perf" : "perf, not related to UTC");
    PerfPutText(r, r->command ? r->command : "perf");
    EtwTextFree(&system);
    PerfEmitDeclared(r, PERF_HOST, &moment);
}
