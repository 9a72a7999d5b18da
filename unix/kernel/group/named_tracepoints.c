/*
 * unix/kernel/group/named_tracepoints.c --
 *
 *	Tracepoints that are enabled by name (linux:SYSTEM:EVENT). The event class is made from the
 *	kernel's own description of the fields (semantics/tracepoint_fields.h). Its provider is
 *	Linux-SYSTEM, its event name the tracepoint's, its field names the kernel's.
 */
#include "unix/kernel/kernel_int.h"
#include "base/alloc.h"
#include "semantics/tracepoint_fields.h"
#include <stdio.h>

struct KernelRaw {
    Etw_Provider *provider;
    Etw_Event *event;
    uint32_t need; /* minimum size of a record */
    int count;
    EtwTracepointPart parts[ETW_TRACEPOINT_FIELDS];
};

/* ---- Defining events ------------------------------------------------------------------------- */

/* libtraceevent also treats arrays of u8 as strings. */
static bool isText(const struct tep_format_field *f)
{
    return f->flags & TEP_FIELD_IS_STRING && strstr(f->type, "char") != NULL &&
           strstr(f->type, "unsigned") == NULL;
}

static EtwTracepointField fieldOf(const struct tep_format_field *f)
{
    bool isSigned = (f->flags & TEP_FIELD_IS_SIGNED) != 0;
    return (EtwTracepointField){.name = f->name,
            .offset = (uint32_t)f->offset,
            .size = (uint32_t)f->size,
            .elementSize = f->elementsize,
            .isSigned = isSigned,
            .isArray = (f->flags & TEP_FIELD_IS_ARRAY) != 0,
            .isPointer = (f->flags & TEP_FIELD_IS_POINTER) != 0,
            .isText = isText(f),
            .isUlong = f->flags & TEP_FIELD_IS_LONG && !isSigned,
            .isDynamic = (f->flags & TEP_FIELD_IS_DYNAMIC) != 0,
            .isRelative = (f->flags & TEP_FIELD_IS_RELATIVE) != 0};
}

KernelRaw *KernelRawNew(struct tep_event *format, EtwError *err)
{
    KernelRaw *raw = EtwAlloc(sizeof *raw);
    Etw_Field fields[ETW_TRACEPOINT_FIELDS];
    Etw_EventDesc desc = {.name = format->name, .level = ETW_LEVEL_INFO};
    char provider[128];
    for (const struct tep_format_field *f = format->format.fields;
            f != NULL && raw->count < ETW_TRACEPOINT_FIELDS; f = f->next) {
        if (f->offset < 0 || f->size <= 0 || f->offset + f->size > ETW_TRACEPOINT_MAX) {
            continue; /* a dynamic array without an offset */
        }
        EtwTracepointField field = fieldOf(f);
        EtwTracepointDescribe(&field, &fields[raw->count], &raw->parts[raw->count]);
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
        put.at = EtwTracepointCopyPart(&raw->parts[i], e->data, e->size, put.at, put.end);
    }
    KernelEmitPut(k, e, raw->event, pid, tid, &put);
}
