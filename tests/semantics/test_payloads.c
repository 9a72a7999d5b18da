/*
 * tests/semantics/test_payloads.c --
 *
 *	Payloads of our own events against their declaration (semantics/declared_events.c). With -file TRACE
 *	this program walks the payload of each declared event of the trace by the declaration alone, without
 *	the decoder and without the event's metadata. It prints one line `PROVIDER EVENT COUNT` for each
 *	event and one line `bad ...` for each payload that is not consumed to its last byte, that ends before
 *	its last field, or whose metadata have other fields. tests/semantics/payloads.test and
 *	tests/unix/kernel_payloads.test make the traces.
 */
#include "tests/support/check.h"
#include "base/bytes.h"
#include "flow/source/source.h"
#include "schema/model/schema.h"
#include "semantics/declared_events.h"

static size_t FixedSize(uint8_t in)
{
    switch (in) {
    case ETW_IN_UINT8:
        return 1;
    case ETW_IN_UINT16:
        return 2;
    case ETW_IN_UINT32:
    case ETW_IN_INT32:
    case ETW_IN_HEX32:
        return 4;
    case ETW_IN_UINT64:
    case ETW_IN_INT64:
    case ETW_IN_HEX64:
        return 8;
    default:
        return 0;
    }
}

/* Bytes that the declared fields take; -1: the payload ends before. A type without a rule here is an error. */
static long Consumed(const EtwDeclaredEvent *event, const uint8_t *payload, size_t size)
{
    EtwBytes b = EtwBytesOf(payload, size);
    for (int i = 0; i < event->fieldCount; i++) {
        const EtwDeclaredField *f = &event->fields[i];
        bool counted = f->in == ETW_IN_COUNTED_ANSI || f->in == ETW_IN_BINARY;
        size_t bytes = counted ? EtwTake16(&b) : FixedSize(f->in);
        if (!counted && bytes == 0) {
            printf("bad %s: field %s has a type that this test does not know\n", event->name,
                    f->name);
        }
        EtwTake(&b, bytes);
    }
    return b.failed ? -1 : (long)(b.at - payload);
}

static bool Fits(const EtwDeclaredEvent *declared, const EtwSchema *schema, const EtwEvent *event)
{
    bool same = schema->fieldCount == declared->fieldCount;
    for (int i = 0; i < declared->fieldCount && same; i++) {
        const EtwField *f = &schema->fields[i];
        same = strcmp(f->name, declared->fields[i].name) == 0 && f->in == declared->fields[i].in &&
               f->out == declared->fields[i].out;
    }
    return same &&
           Consumed(declared, event->payload, event->payloadSize) == (long)event->payloadSize;
}

/* Counts of the events of each declared provider. */
static unsigned counts[32][32];

static void Check(const EtwSchema *schema, const EtwEvent *event)
{
    const EtwDeclaredProvider *p = EtwDeclaredFind(schema->provider);
    bool fits = false;
    if (p == NULL) {
        return;
    }
    for (int i = p->eventCount - 1; i >= 0; i--) { /* of two with a name the first one counts */
        if (strcmp(p->events[i].name, schema->event) == 0) {
            fits = fits || Fits(&p->events[i], schema, event);
            if (i == 0 || strcmp(p->events[i - 1].name, schema->event) != 0) {
                counts[p - etwDeclaredProviders][i]++;
            }
        }
    }
    if (!fits) {
        printf("bad %s %s: %u bytes", schema->provider, schema->event,
                (unsigned)event->payloadSize);
        for (int i = 0; i < p->eventCount; i++) {
            if (strcmp(p->events[i].name, schema->event) == 0) {
                printf(", the declaration takes %ld",
                        Consumed(&p->events[i], event->payload, event->payloadSize));
            }
        }
        printf(", %d fields in the metadata\n", schema->fieldCount);
    }
}

static int CheckTrace(const char *file)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwSource *source;
    EtwEvent event;
    EtwError err = {0};
    if (EtwSourceOpen(&source, file, &err) != ETW_OK) {
        printf("bad %s: %s\n", file, err.message);
        EtwSchemaStoreFree(store);
        return 1;
    }
    while (EtwSourceNext(source, &event) == ETW_OK) {
        const EtwSchema *schema = EtwSchemaOf(store, &event);
        if (schema != NULL) {
            Check(schema, &event);
        }
    }
    for (const EtwDeclaredProvider *p = etwDeclaredProviders; p->name != NULL; p++) {
        for (int i = 0; i < p->eventCount; i++) {
            if (counts[p - etwDeclaredProviders][i] != 0) {
                printf("%s %s %u\n", p->name, p->events[i].name,
                        counts[p - etwDeclaredProviders][i]);
            }
        }
    }
    EtwSourceClose(source);
    EtwSchemaStoreFree(store);
    return 0;
}

/* The walk notices a missing field, a missing byte and one too many. */
static void payloads_1_1_walk(void)
{
    const EtwDeclaredProvider *p = EtwDeclaredFind(ETW_SCRIPT_PROVIDER);
    const EtwDeclaredEvent *command = &p->events[ETW_SCRIPT_COMMAND]; /* three texts */
    static const uint8_t payload[] = {1, 0, 'a', 0, 0, 2, 0, 'b', 'c', 9};
    CHECK_EQ(Consumed(command, payload, 9), 9);
    CHECK_EQ(Consumed(command, payload, 10), 9);
    CHECK_EQ(Consumed(command, payload, 8), -1);
    CHECK_EQ(Consumed(command, payload, 5), -1);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "-file") == 0) {
        return CheckTrace(argv[2]);
    }
    CHECK_ARGS(argc, argv);
    CHECK_RUN(payloads_1_1_walk);
    return CHECK_DONE();
}
