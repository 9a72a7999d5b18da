/*
 * tests/fuzz/fuzz_kernel.c --
 *
 *	Kernel records of any class, version and payload, in a row, through the source that gives them
 *	names and stacks, and into a listing. What is looked for are the sanitizers' reports, and time
 *	out of proportion. Under libFuzzer; with -DFUZZ_MAIN a program: fuzz_kernel SECONDS ?SEED?
 */
#include "base/text.h"
#include "base/os.h"
#include "etl/format.h"
#include "flow/render/sink.h"
#include "flow/source/source_int.h"
#include "schema/kernel/kernel_classes.h"
#include <stdio.h>
#include <stdlib.h>

enum { HEAD = 8 };

typedef struct Classes {
    EtwGuid guids[64];
    size_t count;
} Classes;

/* Records of 8 bytes and a payload: class, opcode, version, width and kind, thread, CPU, size. */
typedef struct BytesSource {
    EtwSource base;
    const uint8_t *data;
    size_t size, at;
    int64_t time;
    EtwGuid only; /* zeros: all */
    const Classes *classes;
} BytesSource;

static void addClass(void *ctx, const EtwProviderDef *def)
{
    Classes *classes = ctx;
    if (classes->count < sizeof classes->guids / sizeof *classes->guids) {
        classes->guids[classes->count++] = def->guid;
    }
}

static bool takeEvent(BytesSource *s, EtwEvent *event)
{
    const uint8_t *p = s->data + s->at;
    size_t left = s->size - s->at, size;
    if (left < HEAD) {
        return false;
    }
    size = EtwLoad16(p + 6) % 512u;
    size = size < left - HEAD ? size : left - HEAD;
    s->at += HEAD + size;
    s->time += 1 + (p[3] >> 4);
    *event = (EtwEvent){.classic = true,
            .hook = 1,
            .kind = p[3] & 2 ? ETL_PERFINFO64 : ETL_FULL32,
            .pointerSize = p[3] & 1 ? 4 : 8,
            .time = s->time,
            .ticks = s->time,
            .provider = s->classes->guids[p[0] % s->classes->count],
            .desc = {.opcode = p[1], .version = p[2]},
            .pid = p[3] & 4 ? p[4] : ETW_NO_ID,
            .tid = p[3] & 8 ? p[4] : ETW_NO_ID,
            .cpu = p[5],
            .payload = p + HEAD,
            .payloadSize = (uint32_t)size};
    return true;
}

static EtwStatus bytesNext(EtwSource *source, EtwEvent *event)
{
    BytesSource *s = (BytesSource *)source;
    while (takeEvent(s, event)) {
        if (EtwGuidIsNull(&s->only) || EtwGuidEqual(&s->only, &event->provider)) {
            return ETW_OK;
        }
    }
    return ETW_END;
}

static void bytesClose(EtwSource *source)
{
    EtwFree(source);
}

static EtwSource *bytesAgain(const EtwSource *source, const EtlFilter *filter)
{
    BytesSource *reopen = EtwAlloc(sizeof *reopen);
    *reopen = *(const BytesSource *)source;
    reopen->at = 0;
    reopen->time = 0;
    if (filter->providerCount == 1) {
        reopen->only = filter->providers[0];
    }
    return &reopen->base;
}

/* One listing. The store and the sink are made once: nothing that kernel events tell stays in them. */
static void listing(const uint8_t *data, size_t size, const Classes *classes, bool stacks)
{
    static const EtwSourceOps ops = {.next = bytesNext, .close = bytesClose, .reopen = bytesAgain};
    static EtwSchemaStore *store;
    static EtwSink *sinks[2];
    static EtwText out;
    store = store != NULL ? store : EtwSchemaStoreNew();
    if (sinks[stacks] == NULL) {
        EtwSinkConfig config = {
                .format = stacks ? ETW_FORMAT_JSON : ETW_FORMAT_TEXT, .stacks = stacks};
        sinks[stacks] = EtwSinkNew(&config, store);
    }
    BytesSource *bytes = EtwAlloc(sizeof *bytes);
    *bytes = (BytesSource){.base.ops = &ops, .data = data, .size = size, .classes = classes};
    EtwSource *source = EtwSourceTrack(&bytes->base, stacks);
    EtwEvent event;
    EtwSinkBegin(sinks[stacks], source, &out);
    while (EtwSourceNext(source, &event) == ETW_OK) {
        EtwSinkEvent(sinks[stacks], &event, &out);
        out.size = 0;
    }
    EtwSinkEnd(sinks[stacks], source, &out);
    out.size = 0;
    EtwSourceClose(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Classes classes;
    if (classes.count == 0) {
        EtwKernelVisit(addClass, &classes);
    }
    if (size > 0) {
        listing(data + 1, size - 1, &classes, (data[0] & 1) != 0);
    }
    return 0;
}

#ifdef FUZZ_MAIN
int main(int argc, char **argv)
{
    uint64_t state = argc > 2 ? strtoull(argv[2], NULL, 10) | 1 : 88172645463325252ull, runs = 0;
    double seconds = argc > 1 ? atof(argv[1]) : 5;
    static uint8_t data[1 << 16];
    OsInstant start, now;
    OsNow(&start);
    do {
        size_t size = state % sizeof data;
        for (size_t i = 0; i < size; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            data[i] = state & 0x10000 ? (uint8_t)(state % 40) : 0;
        }
        LLVMFuzzerTestOneInput(data, size);
        runs++;
        OsNow(&now);
    } while ((double)(now.steady - start.steady) < seconds * 1e9);
    printf("%llu runs\n", (unsigned long long)runs);
    return 0;
}
#endif
