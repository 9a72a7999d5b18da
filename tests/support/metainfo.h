/*
 * tests/support/metainfo.h --
 *
 *	Builds descriptions of events as in traces, from the documentation of the structures:
 *	TRACE_EVENT_INFO, EVENT_MAP_INFO, EventSource's chunks of manifests. Does not use
 *	generic/schema.
 */
#ifndef ETW_TESTS_METAINFO_H
#define ETW_TESTS_METAINFO_H

#include "base/unicode.h"
#include "base/guid.h"
#include "event/event.h"

typedef struct InfoProperty {
    uint32_t flags; /* 1 struct, 2 length by property, 4 count by property, 0x20 fixed count */
    const char *name;
    uint16_t in, out; /* struct: first member, members */
    const char *map;
    uint16_t count, length;
} InfoProperty;

/* Append a text as UTF-16 with its NUL; the offset goes to `at`. */
__attribute__((unused)) static void InfoText(EtwText *t, size_t base, size_t at, const char *text)
{
    if (text != NULL) {
        EtwStore32(t->data + at, (uint32_t)(t->size - base));
        EtwTextToUtf16(t, text, strlen(text));
        EtwTextAdd(t, "\0\0", 2);
    }
}

/*
 * classic: of a MOF class, whose GUID is the event's. top: number of properties that are not
 * members.
 */
__attribute__((unused)) static void InfoEvent(EtwText *t, const EtwGuid *guid, uint16_t code,
        uint8_t version, bool classic, const InfoProperty *properties, int count, int top)
{
    size_t base = t->size;
    EtwTextReserve(t, 0x70 + 24 * (size_t)count);
    memset(t->data + base, 0, 0x70 + 24 * (size_t)count);
    t->size += 0x70 + 24 * (size_t)count;
    memcpy(t->data + base, guid, 16);
    memcpy(t->data + base + 0x10, guid, 16);
    EtwStore16(t->data + base + 0x20, classic ? 0 : code);
    t->data[base + 0x22] = (char)version;
    t->data[base + 0x24] = 4;
    t->data[base + 0x25] = (char)(classic ? code : 11);
    EtwStore32(t->data + base + 0x30, classic);
    EtwStore32(t->data + base + 0x64, (uint32_t)count);
    EtwStore32(t->data + base + 0x68, (uint32_t)top);
    InfoText(t, base, base + 0x34, "Acme ");
    InfoText(t, base, base + 0x44, "Eat ");
    InfoText(t, base, base + 0x48, "Bite ");
    InfoText(t, base, base + 0x4c, "Ate %1 ");
    for (int i = 0; i < count; i++) {
        size_t at = base + 0x70 + 24 * (size_t)i;
        const InfoProperty *p = &properties[i];
        EtwStore32(t->data + at, p->flags);
        EtwStore16(t->data + at + 8, p->in);
        EtwStore16(t->data + at + 10, p->out);
        EtwStore16(t->data + at + 16, p->count);
        EtwStore16(t->data + at + 18, p->length);
        InfoText(t, base, at + 4, p->name);
        InfoText(t, base, at + 12, p->map);
    }
}

/* The provider's GUID and a map with these names, values from 1 on; flags 1: values, 2: bits. */
__attribute__((unused)) static void InfoMap(EtwText *t, const EtwGuid *provider, const char *name,
        uint32_t flags, const char *const *names, int count)
{
    EtwTextAdd(t, provider, 16);
    size_t base = t->size;
    EtwTextReserve(t, 16 + 8 * (size_t)count);
    memset(t->data + base, 0, 16 + 8 * (size_t)count);
    t->size += 16 + 8 * (size_t)count;
    EtwStore32(t->data + base + 4, flags);
    EtwStore32(t->data + base + 8, (uint32_t)count);
    InfoText(t, base, base, name);
    for (int i = 0; i < count; i++) {
        InfoText(t, base, base + 16 + 8 * (size_t)i, names[i]);
        EtwStore32(t->data + base + 20 + 8 * (size_t)i, (uint32_t)i + 1);
    }
}

/* EventSource's header before a chunk of XML. */
__attribute__((unused)) static void InfoChunk(
        EtwText *t, uint16_t total, uint16_t number, const char *xml, size_t size)
{
    uint8_t head[8] = {1, 1, 0, 0x5B};
    EtwStore16(head + 4, total);
    EtwStore16(head + 6, number);
    EtwTextAdd(t, head, sizeof head);
    EtwTextAdd(t, xml, size);
}

/* Events that contain them: op 32, op 33, EventSource's, PerfTrack's. */
typedef enum InfoKind { INFO_EVENT_INFO, INFO_MAP_INFO, INFO_CHUNK, INFO_PERFTRACK } InfoKind;
__attribute__((unused)) static EtwEvent InfoCarrier(
        InfoKind kind, const EtwGuid *provider, const void *payload, size_t size)
{
    EtwEvent e = {.kind = kind == INFO_CHUNK ? 19 : 20,
            .pointerSize = 8,
            .pid = 7,
            .tid = 8,
            .classic = kind != INFO_CHUNK,
            .payload = payload,
            .payloadSize = (uint32_t)size};
    EtwGuidParse(kind == INFO_PERFTRACK ? "bf6ef1cb-89b5-490a-80ac-b180cfbcff0f"
                                        : "bbccf6c1-6cd1-48c4-80ff-839482e37671",
            &e.provider);
    if (kind == INFO_CHUNK) {
        e.provider = *provider;
        e.desc = (EtwDescriptor){.id = 0xFFFE, .task = 0xFFFE, .opcode = 0xFE};
    } else {
        e.desc.opcode = kind == INFO_EVENT_INFO ? 32 : 33;
    }
    return e;
}

#endif
