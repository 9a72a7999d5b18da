/*
 * tests/support/sample_event.h --
 *
 *	Builds events field by field, for tests of code that reads events. Included by one file of a
 *	program.
 */
#ifndef ETW_TESTS_SAMPLE_H
#define ETW_TESTS_SAMPLE_H

#include "schema/model/schema.h"
#include "etl/format.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct Sample {
    EtwText meta, traits, payload;
    EtwEvent event; /* SampleEvent updates its pointers */
} Sample;

/* A field's declaration, by name and ETW_IN_*; of a text in UTF-8. */
#define FIELD(name, in)                                                                            \
    {                                                                                              \
        name, in, 0, 0, 0                                                                          \
    }
#define TEXT_FIELD(name)                                                                           \
    {                                                                                              \
        name, ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, 0                                              \
    }

__attribute__((unused)) static Sample *SampleNew(
        const char *provider, const char *name, const Etw_Field *fields, int count)
{
    EtwError err;
    Sample *s = EtwAlloc(sizeof *s);
    if (EtwTraceLoggingEncode(&s->meta, name, fields, count, &err) != ETW_OK) {
        fprintf(stderr, "sample %s: %s\n", name, err.message);
        abort();
    }
    EtwTraceLoggingTraits(&s->traits, provider, NULL);
    EtwGuidFromName(provider, &s->event.provider);
    s->event.kind = ETL_EVENT64;
    s->event.pointerSize = 8;
    s->event.desc.level = 4;
    s->event.desc.channel = ETL_CHANNEL_TRACELOGGING;
    s->event.pid = 4711;
    s->event.tid = 4711;
    return s;
}

__attribute__((unused)) static void SampleFree(Sample *s)
{
    EtwTextFree(&s->meta);
    EtwTextFree(&s->traits);
    EtwTextFree(&s->payload);
    EtwFree(s);
}

__attribute__((unused)) static const EtwEvent *SampleEvent(Sample *s)
{
    s->event.meta = (const uint8_t *)s->meta.data;
    s->event.metaSize = (uint32_t)s->meta.size;
    s->event.traits = (const uint8_t *)s->traits.data;
    s->event.traitsSize = (uint32_t)s->traits.size;
    s->event.payload = (const uint8_t *)s->payload.data;
    s->event.payloadSize = (uint32_t)s->payload.size;
    return &s->event;
}

/* A number of that many bytes, little-endian. */
__attribute__((unused)) static void SampleInt(Sample *s, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++, v >>= 8) {
        EtwTextChar(&s->payload, (char)v);
    }
}

__attribute__((unused)) static void SampleBytes(Sample *s, const void *data, size_t size)
{
    EtwTextAdd(&s->payload, data, size);
}

/* u16 size, then the text. */
__attribute__((unused)) static void SampleText(Sample *s, const char *text)
{
    SampleInt(s, strlen(text), 2);
    SampleBytes(s, text, strlen(text));
}

/* A port, network byte order. */
__attribute__((unused)) static void SamplePort(Sample *s, uint16_t port)
{
    SampleBytes(s, (uint8_t[]){(uint8_t)(port >> 8), (uint8_t)port}, 2);
}

__attribute__((unused)) static char *SampleReadFile(const char *path, size_t *sizePtr)
{
    FILE *f = fopen(path, "rb");
    EtwText text = {0};
    if (f == NULL) {
        return NULL;
    }
    for (int c; (c = getc(f)) != EOF;) {
        EtwTextChar(&text, (char)c);
    }
    fclose(f);
    EtwTextChar(&text, 0);
    if (sizePtr != NULL) {
        *sizePtr = text.size - 1;
    }
    return text.data;
}

/* Path of a file in tests/golden. */
__attribute__((unused)) static const char *SampleGolden(const char *name)
{
    static char path[1024];
    const char *here = __FILE__, *slash = strrchr(here, '/');
    snprintf(path, sizeof path, "%.*s/../golden/%s", slash ? (int)(slash - here) : 1,
            slash ? here : ".", name);
    return path;
}

/*
 * Compare a text with a golden file. ETW_GOLDEN_WRITE in the environment rewrites the file instead:
 * check the difference before committing it.
 */
__attribute__((unused)) static bool SampleIsGolden(const char *name, const char *text, size_t size)
{
    size_t wantSize = 0;
    if (getenv("ETW_GOLDEN_WRITE") != NULL) {
        FILE *f = fopen(SampleGolden(name), "wb");
        bool good = f != NULL && fwrite(text, 1, size, f) == size;
        return f != NULL && fclose(f) == 0 && good;
    }
    char *want = SampleReadFile(SampleGolden(name), &wantSize);
    if (want == NULL) {
        printf("no golden file %s\n", SampleGolden(name));
        return false;
    }
    bool same = wantSize == size && memcmp(want, text, size) == 0;
    size_t at = 0, line = 1, start = 0;
    while (!same && at < size && at < wantSize && text[at] == want[at]) {
        if (text[at++] == '\n') {
            line++;
            start = at;
        }
    }
    if (!same) {
        const char *got = text + start, *wanted = want + start;
        printf("%s:%zu: got    %.*s\n", name, line, (int)strcspn(got, "\n"), got);
        printf("%s:%zu: wanted %.*s\n", name, line, (int)strcspn(wanted, "\n"), wanted);
    }
    EtwFree(want);
    return same;
}

#endif
