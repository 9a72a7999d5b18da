/*
 * flow/source/perf/perf_int.h --
 *
 *	What the files of flow/source/perf share. A reader takes records from its input (perf_input.c), sorts
 *	them by time (perf_order.c), and makes events of each (perf_convert.c, perf_tasks.c) in the form of
 *	records of an .etl file (perf_events.c). perf_meta.c reads what describes the records.
 */
#ifndef ETW_PERF_INT_H
#define ETW_PERF_INT_H

#include "base/hash_table.h"
#include "base/text.h"
#include "etl/compress/pack.h"
#include "etl/write/synthetic_header.h"
#include "flow/source/perf/perf_format.h"
#include "flow/source/perf/perf_reader.h"
#include "semantics/declared_events.h"
#include "semantics/tracepoint_fields.h"
#include "symbol/image_table.h"
#include "symbol/unwind.h"

/* ---- Events (perf_events.c) -------------------------------------------------------------------- */

/* What is constant in the events of one name. */
typedef struct PerfClass {
    EtwEvent model;
    EtwText traits, meta;
} PerfClass;

/* Events of our own providers that records become. */
typedef enum PerfDeclared {
    PERF_HOST,
    PERF_PROGRAM,
    PERF_PROCESS_START,
    PERF_PROCESS_EXEC,
    PERF_PROCESS_STOP,
    PERF_THREAD_START,
    PERF_THREAD_STOP,
    PERF_SWITCH,
    PERF_CALL_ENTER,
    PERF_CALL_EXIT,
    PERF_PROFILE,
    PERF_IMAGE_LOAD,
    PERF_IMAGE_UNLOAD,
    PERF_IMAGE_START,
    PERF_DECLARED
} PerfDeclared;

/* What events have beside their payload. */
typedef struct PerfMoment {
    uint64_t time; /* perf's */
    uint32_t pid, tid;
    uint16_t cpu;
    const uint8_t *stack; /* addresses of 8 bytes */
    uint32_t stackCount;
} PerfMoment;

enum { PERF_STACK_MAX = 4000 /* addresses: a record of an .etl file has at most 64 KB */ };

/* An event that waits to be delivered. */
typedef struct PerfOut {
    size_t at; /* of its record in EtwPerfReader.records */
    uint32_t size;
    int64_t time;
    uint16_t cpu;
} PerfOut;

/* ---- Descriptions (perf_meta.c) ---------------------------------------------------------------- */

/* A tracepoint in the tracing data. */
typedef struct PerfTracepoint {
    EtwTableNode node; /* by id */
    uint32_t id;
    const char *system;
    char *text;                  /* its names are parts of this */
    EtwTracepointFormat *format; /* as long as it has fields */
    /* For its events, of all attributes that record it. Made for the first sample (PerfDescribe). */
    bool described;
    PerfClass *class; /* NULL: not possible */
    EtwTracepointPart *parts;
    int partCount;
    uint32_t need; /* minimum size of a record */
} PerfTracepoint;

typedef enum PerfUse {
    USE_UNKNOWN, /* USE_OTHER or USE_TRACEPOINT; its first sample decides */
    USE_OTHER,   /* an event of the provider Linux-perf */
    USE_PROFILE,
    USE_TRACEPOINT, /* an event with the tracepoint's name */
    USE_SWITCH,
    USE_CALL_ENTER,
    USE_CALL_EXIT
} PerfUse;

enum { PERF_FIELDS = 7 }; /* of a tracepoint that becomes an event of our own */

/* perf_event_attr: what the samples of one event have. */
typedef struct PerfAttr {
    uint32_t type;
    uint64_t config, period, sampleType, readFormat;
    uint64_t branches, registers; /* what samples have of branches and registers */
    bool freq, sampleIdAll;
    char *name;
    PerfUse use;
    PerfTracepoint *tracepoint;                    /* NULL: no format in the file */
    PerfClass *class;                              /* USE_OTHER */
    const EtwTracepointField *fields[PERF_FIELDS]; /* of events of our own: those that are needed */
    uint32_t need;                                 /* minimum size of a record */
    bool decided;
} PerfAttr;

typedef struct PerfId {
    EtwTableNode node;
    uint64_t id;
    PerfAttr *attr;
} PerfId;

typedef struct PerfBuildId {
    EtwTableNode node; /* by path */
    uint8_t size, id[ETW_BUILD_ID_MAX];
    char path[];
} PerfBuildId;

/* ---- Order (perf_order.c) ------------------------------------------------------------------------ */

/* Memory of records that are not in a mapped file. Freed with the last of its records. */
typedef struct PerfBlock {
    size_t used, size, records;
    uint8_t bytes[];
} PerfBlock;

typedef struct PerfPending {
    uint64_t time;
    const uint8_t *record;
    PerfAttr *attr;
    PerfBlock *block; /* NULL: in the mapped file */
} PerfPending;

typedef struct PerfOrder {
    PerfPending *list, *other; /* other: of the same capacity, for sorting */
    size_t count, capacity;
    size_t at, ready;       /* list[at..ready) are to be delivered */
    PerfBlock *filling;     /* receives copies of records */
    size_t copied;          /* bytes of all blocks */
    uint64_t newest, flush; /* times: of all records; of those before the last round */
} PerfOrder;

/* Add a record; `copy`: its memory is valid now only. */
void PerfOrderAdd(PerfOrder *o, uint64_t time, const uint8_t *record, PerfAttr *attr, bool copy);
/* Records up to the newest one before the last round can be delivered. */
void PerfOrderRound(PerfOrder *o);
void PerfOrderAll(PerfOrder *o);          /* all records can be delivered */
bool PerfOrderIsFull(const PerfOrder *o); /* the memory's limit is reached */
void PerfOrderHalf(PerfOrder *o);         /* the older half of the records can be delivered */
/* NULL: none can be delivered. Valid until the next call. */
const PerfPending *PerfOrderNext(PerfOrder *o);
void PerfOrderFree(PerfOrder *o);

/* ---- Tasks (perf_tasks.c) ------------------------------------------------------------------------ */

enum { PERF_COMM = 16 };
typedef struct PerfTask {
    EtwTableNode node; /* by tid */
    uint32_t tid, pid;
    uint8_t commSize;
    char comm[PERF_COMM];
} PerfTask;

typedef struct PerfProcess {
    EtwTableNode node; /* by pid */
    uint32_t pid, threads;
} PerfProcess;

typedef struct PerfTasks {
    EtwTable tasks, processes;
} PerfTasks;

/* ---- Input (perf_input.c) ------------------------------------------------------------------------ */

typedef struct PerfInput {
    const uint8_t *base; /* a file in memory; NULL: a pipe */
    uint64_t at, end;    /* of the records in the file; of a pipe the bytes read so far */
    uint64_t fileSize;
    EtwPerfRead *read;
    void *readCtx;
    EtwText buffer; /* of a pipe; bytes before `used` are done with */
    size_t used;
    bool ended, failed;
    EtwError error;
} PerfInput;

/* The next `size` bytes, or NULL: there are fewer. Valid until the next call; of a file always. */
const uint8_t *PerfInputPeek(PerfInput *in, size_t size);
size_t PerfInputLeft(PerfInput *in);            /* after PerfInputPeek has returned NULL */
void PerfInputSkip(PerfInput *in, size_t size); /* bytes that PerfInputPeek has returned */

/* ---- The reader ------------------------------------------------------------------------------------ */

enum { PERF_CORE_KINDS = 8 /* of a machine, at most */ };

struct EtwPerfReader {
    PerfInput in;
    EtwPerfWarn *warn;
    void *warnCtx;
    EtlSyntheticHeader header;
    EtlInfo *info; /* header.info */

    /* Descriptions. */
    PerfAttr **attrs;
    int attrCount, attrCapacity;
    EtwTable ids, tracepoints, buildIds;
    EtwText tracing; /* texts of the tracing data */
    char *host, *release, *machine, *command;
    uint32_t cpus;
    bool hasWall, hasSwitches;
    PerfAttr *profile;                   /* the first attribute with USE_PROFILE; NULL: none */
    uint32_t coreKinds[PERF_CORE_KINDS]; /* of all these attributes */
    int coreKindCount;
    uint64_t wallOffset; /* added to perf's time: ns since 1970 */
    uint64_t firstTime;  /* of all records with a time; UINT64_MAX: none yet */
    uint64_t lastTime;   /* of the last event */

    /* Records. */
    PerfOrder order;
    EtlUnpacker *unpacker;
    EtwText unpacked; /* the beginning of a record */
    uint64_t unpackedBytes, packedBytes;
    bool unpackFailed, done;

    /* Events. */
    PerfClass *declared[PERF_DECLARED];
    PerfTasks tasks;
    EtwImageTable images;
    uint64_t inherited;    /* bytes of events of images that were made for forks and exits */
    EtwUnwinder *unwinder; /* NULL: not needed so far, or not possible */
    uint64_t notUnwound;   /* samples */
    EtwText payload, stack, records;
    PerfOut *outs;
    size_t outCount, outCapacity, outAt;
    bool finished;

    uint64_t lost, lostSamples, malformed, unknown, undelivered;
};

/* perf_meta.c */
EtwStatus PerfMetaFile(EtwPerfReader *r, const char *path, EtwError *errPtr);
void PerfMetaRecord(EtwPerfReader *r, const uint8_t *record, PerfHeader head);
void PerfMetaTracing(EtwPerfReader *r, const uint8_t *data, size_t size);
PerfTracepoint *PerfTracepointOf(EtwPerfReader *r, uint64_t id); /* NULL: unknown */
PerfAttr *PerfAttrOf(EtwPerfReader *r, uint64_t id);             /* NULL: unknown */
const PerfBuildId *PerfBuildIdOf(const EtwPerfReader *r, const char *path, size_t size);
void PerfMetaFree(EtwPerfReader *r);

/* perf_events.c */
PerfClass *PerfClassNew(
        const char *provider, const Etw_EventDesc *desc, const Etw_Field *fields, int count);
void PerfClassFree(PerfClass *class);
/* Make an event of reader->payload, which is then empty. */
void PerfEmit(EtwPerfReader *r, const PerfClass *class, const PerfMoment *moment);
void PerfEmitDeclared(EtwPerfReader *r, PerfDeclared event, const PerfMoment *moment);
void PerfEmitHost(EtwPerfReader *r);

/* perf_convert.c: decide what samples of an attribute become; make events of a record */
void PerfDecide(EtwPerfReader *r, PerfAttr *attr);
void PerfConvert(EtwPerfReader *r, const PerfPending *pending);

/* perf_unwind.c: the rest of a sample with copies of registers and the stack; its user frames become m's */
void PerfTakeCopies(EtwPerfReader *r, const PerfAttr *attr, EtwBytes *b, PerfMoment *m);
const char *PerfUnwindMachine(const EtwPerfReader *r);

/* perf_tasks.c */
void PerfOnComm(EtwPerfReader *r, const PerfMoment *m, EtwBytes *b, uint16_t misc);
void PerfOnFork(EtwPerfReader *r, const PerfMoment *m, EtwBytes *b);
void PerfOnExit(EtwPerfReader *r, const PerfMoment *m, EtwBytes *b);
void PerfOnMmap(EtwPerfReader *r, const PerfMoment *m, EtwBytes *b, PerfHeader head);
void PerfPutComm(EtwPerfReader *r, uint32_t tid); /* the thread's name, counted */
void PerfTasksFree(EtwPerfReader *r);

/* ---- Payloads ---------------------------------------------------------------------------------------- */

static inline void PerfPut16(EtwPerfReader *r, uint16_t v)
{
    EtwTextAdd(&r->payload, &v, 2);
}
static inline void PerfPut32(EtwPerfReader *r, uint32_t v)
{
    EtwTextAdd(&r->payload, &v, 4);
}
static inline void PerfPut64(EtwPerfReader *r, uint64_t v)
{
    EtwTextAdd(&r->payload, &v, 8);
}
static inline void PerfPutBytes(EtwPerfReader *r, const void *data, size_t size)
{
    enum { MOST = 32768 }; /* a record of an .etl file has at most 64 KB */
    size = size > MOST ? MOST : size;
    PerfPut16(r, (uint16_t)size);
    EtwTextAdd(&r->payload, data, size);
}
static inline void PerfPutText(EtwPerfReader *r, const char *text)
{
    PerfPutBytes(r, text, strlen(text));
}

#endif
