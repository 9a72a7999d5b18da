/*
 * unix/kernel/group/named_tracepoints.c --
 *
 *	Tracepoints that are enabled by name (linux:SYSTEM:EVENT). The event class is made from the
 *	kernel's own description of the fields. Its provider is Linux-SYSTEM, its event name the
 *	tracepoint's, its field names the kernel's. Numbers keep size and sign, char arrays become
 *	text, arrays of numbers stay arrays, pointers are hexadecimal, arrays of 4 or 16 bytes with
 *	the name of an address become addresses. All other fields are bytes.
 */
#include "unix/kernel/kernel_int.h"
#include "base/alloc.h"
#include <stdio.h>

enum { MOST_FIELDS = 120 };

/* How a field is copied from the record into the payload. */
typedef enum CopyKind {
    COPY_PLAIN, /* unchanged: numbers, arrays of numbers, IPv4 addresses */
    COPY_TEXT,  /* char array: counted, up to the NUL */
    COPY_BYTES, /* counted */
    COPY_DYNAMIC_TEXT,
    COPY_DYNAMIC_BYTES
} CopyKind;

typedef struct RawField {
    CopyKind kind;
    bool relative; /* __rel_loc */
    KernelField at;
} RawField;

struct KernelRaw {
    Etw_Provider *provider;
    Etw_Event *event;
    uint32_t need; /* minimum size of a record */
    int count;
    RawField fields[MOST_FIELDS];
};

/* ---- Defining events ------------------------------------------------------------------------- */

static bool isOneOf(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

static uint8_t numberType(int size, bool isSigned)
{
    switch (size) {
    case 1:
        return isSigned ? ETW_IN_INT8 : ETW_IN_UINT8;
    case 2:
        return isSigned ? ETW_IN_INT16 : ETW_IN_UINT16;
    case 4:
        return isSigned ? ETW_IN_INT32 : ETW_IN_UINT32;
    case 8:
        return isSigned ? ETW_IN_INT64 : ETW_IN_UINT64;
    default:
        return ETW_IN_NULL;
    }
}

/* True if a u8 array is an address. All network tracepoints use these names. */
static bool asAddress(const struct tep_format_field *f, Etw_Field *field, RawField *raw)
{
    static const char *const names4[] = {"saddr", "daddr", "src", "dst", "gw4", NULL};
    static const char *const names6[] = {
            "saddr_v6", "daddr_v6", "saddr", "daddr", "src", "dst", "gw6", "gw", NULL};
    if (f->size == 4 && isOneOf(f->name, names4)) {
        field->in = ETW_IN_UINT32;
        field->out = ETW_OUT_IPV4;
        raw->kind = COPY_PLAIN;
        return true;
    }
    if (f->size == 16 && isOneOf(f->name, names6)) {
        field->in = ETW_IN_BINARY;
        field->out = ETW_OUT_IPV6;
        raw->kind = COPY_BYTES;
        return true;
    }
    return false;
}

static void asArray(const struct tep_format_field *f, Etw_Field *field, RawField *raw)
{
    unsigned size = f->elementsize;
    uint8_t in = numberType((int)size, (f->flags & TEP_FIELD_IS_SIGNED) != 0);
    unsigned count = size ? (unsigned)f->size / size : 0;
    if (size == 1 && asAddress(f, field, raw)) {
        return;
    }
    if (size > 1 && in != ETW_IN_NULL && count > 0 && count * size == (unsigned)f->size) {
        field->in = f->flags & TEP_FIELD_IS_LONG && !(f->flags & TEP_FIELD_IS_SIGNED) && size == 8
                            ? ETW_IN_HEX64
                            : in;
        field->array = ETW_ARRAY_FIXED;
        field->count = (uint16_t)count;
        raw->kind = COPY_PLAIN;
        return;
    }
    field->in = ETW_IN_BINARY;
    raw->kind = COPY_BYTES;
}

/* libtraceevent also treats arrays of u8 as strings. */
static bool isText(const struct tep_format_field *f)
{
    return f->flags & TEP_FIELD_IS_STRING && strstr(f->type, "char") != NULL &&
           strstr(f->type, "unsigned") == NULL;
}

static void describeField(const struct tep_format_field *f, Etw_Field *field, RawField *raw)
{
    bool text = isText(f);
    memset(field, 0, sizeof *field);
    field->name = f->name;
    raw->at = (KernelField){
            (uint16_t)f->offset, (uint16_t)f->size, (f->flags & TEP_FIELD_IS_SIGNED) != 0};
    raw->relative = (f->flags & TEP_FIELD_IS_RELATIVE) != 0;
    if (text) {
        field->in = ETW_IN_COUNTED_ANSI;
        field->out = ETW_OUT_UTF8;
    }
    if (f->flags & TEP_FIELD_IS_DYNAMIC) {
        raw->kind = text ? COPY_DYNAMIC_TEXT : COPY_DYNAMIC_BYTES;
        field->in = text ? ETW_IN_COUNTED_ANSI : ETW_IN_BINARY;
    } else if (text) {
        raw->kind = COPY_TEXT;
    } else if (f->flags & TEP_FIELD_IS_ARRAY) {
        asArray(f, field, raw);
    } else {
        raw->kind = COPY_PLAIN;
        field->in = f->flags & TEP_FIELD_IS_POINTER && f->size == 8
                            ? ETW_IN_HEX64
                            : numberType(f->size, (f->flags & TEP_FIELD_IS_SIGNED) != 0);
        if (field->in == ETW_IN_NULL) {
            field->in = ETW_IN_BINARY;
            raw->kind = COPY_BYTES;
        }
    }
}

KernelRaw *KernelRawNew(struct tep_event *format, EtwError *err)
{
    KernelRaw *raw = EtwAlloc(sizeof *raw);
    Etw_Field fields[MOST_FIELDS];
    Etw_EventDesc desc = {.name = format->name, .level = ETW_LEVEL_INFO};
    char provider[128];
    for (const struct tep_format_field *f = format->format.fields;
            f != NULL && raw->count < MOST_FIELDS; f = f->next) {
        if (f->offset < 0 || f->size <= 0 || f->offset + f->size > UINT16_MAX) {
            continue; /* a dynamic array without an offset */
        }
        describeField(f, &fields[raw->count], &raw->fields[raw->count]);
        if ((uint32_t)(f->offset + f->size) > raw->need) {
            raw->need = (uint32_t)(f->offset + f->size);
        }
        raw->count++;
    }
    snprintf(provider, sizeof provider, "Linux-%s", format->system);
    if (EtwRegister(provider, NULL, &raw->provider, err) != ETW_OK) {
        KernelRawFree(raw);
        return NULL;
    }
    raw->event = Etw_DefineEvent(raw->provider, &desc, fields, raw->count);
    if (raw->event == NULL) {
        EtwFail(err, ETW_E_LIMIT, "EVENTS", format->name,
                "cannot register event %s of provider %s: the registry of this user is full",
                format->name, provider);
        KernelRawFree(raw);
        return NULL;
    }
    return raw;
}

void KernelRawFree(KernelRaw *raw)
{
    if (raw != NULL) {
        if (raw->provider != NULL) {
            Etw_Unregister(raw->provider);
        }
        EtwFree(raw);
    }
}

/* ---- Copying --------------------------------------------------------------------------------- */

static void copyField(KernelPut *put, const RawField *f, const TraceEvent *e)
{
    const uint8_t *data = e->data + f->at.offset;
    EtwBytes bytes;
    switch (f->kind) {
    case COPY_PLAIN:
        memcpy(put->at, data, f->at.size); /* a record is smaller than the buffer */
        put->at += f->at.size;
        return;
    case COPY_TEXT:
        PutText(put, data, f->at.size);
        return;
    case COPY_BYTES:
        PutBytes(put, data, f->at.size);
        return;
    case COPY_DYNAMIC_TEXT:
    case COPY_DYNAMIC_BYTES:
        bytes = KernelDynamic(f->at, f->relative, e->data, e->size);
        if (f->kind == COPY_DYNAMIC_TEXT) {
            PutText(put, bytes.at, EtwBytesLeft(&bytes));
        } else {
            PutBytes(put, bytes.at, EtwBytesLeft(&bytes));
        }
        return;
    }
}

void KernelRawEmit(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    const KernelRaw *raw = p->raw;
    uint32_t tid = KernelTidOf(e);
    uint32_t pid = KernelTaskProcess(&k->tasks, tid, e->ticks, p->instance == IN_MAIN);
    KernelPut put = KernelPutOf(k);
    if (e->size < raw->need || e->size > sizeof k->payload / 3 ||
            (pid == 0 && !k->tasks.all && p->instance == IN_ANY)) {
        return;
    }
    for (int i = 0; i < raw->count; i++) {
        copyField(&put, &raw->fields[i], e);
    }
    KernelEmitPut(k, e, raw->event, pid, tid, &put);
}
