/*
 * schema/store/header_labels.c --
 *
 *	Names of the numbers in an event's header: from the event's schema, otherwise from its
 *	provider's definition, otherwise Windows' standard names.
 */
#include "schema/store/header_labels.h"
#include "schema/model/tcl_list.h"
#include "schema/store/platform_schema.h"

static uint64_t numberOf(const EtwEvent *event, EtwNameKind kind)
{
    switch (kind) {
    case ETW_NAME_TASK:
        return event->desc.task;
    case ETW_NAME_OPCODE:
        return event->desc.opcode;
    case ETW_NAME_LEVEL:
        return event->desc.level;
    case ETW_NAME_CHANNEL:
        return event->desc.channel;
    default:
        return event->desc.keyword;
    }
}

static const char *taskLabel(const EtwSchema *schema, const EtwEvent *event)
{
    if (schema->task != NULL) {
        return schema->task;
    }
    if (event->classic) {
        return schema->provider;
    }
    return schema->def == NULL ? schema->event : NULL;
}

const char *EtwEventLabel(const EtwSchema *schema, const EtwEvent *event, EtwNameKind kind)
{
    const struct EtwProviderDef *def = schema ? schema->def : NULL;
    uint64_t number = numberOf(event, kind);
    uint16_t task = kind == ETW_NAME_OPCODE ? event->desc.task : 0;
    const char *label = schema == NULL            ? NULL
                        : kind == ETW_NAME_TASK   ? taskLabel(schema, event)
                        : kind == ETW_NAME_OPCODE ? schema->opcode
                                                  : NULL;
    if (label == NULL && def != NULL) {
        label = EtwDefNameOf(def, kind, number, task);
    }
    if (label == NULL && (kind == ETW_NAME_LEVEL || (kind == ETW_NAME_OPCODE && !event->classic))) {
        label = EtwStandardName(kind, number);
    }
    return label != NULL && label[0] != 0 ? label : NULL;
}

/* The definition that has the names of the event's keywords; NULL: none. */
static const struct EtwProviderDef *keywordsOf(const EtwSchema *schema, const EtwEvent *event)
{
    const struct EtwProviderDef *def = schema ? schema->def : NULL;
    if (def != NULL && def->nameCount[ETW_NAME_KEYWORD] == 0 && event->desc.keyword != 0) {
        def = EtwPlatformProvider(&event->provider); /* a definition of a single event has no
                                                        names */
    }
    return def;
}

bool EtwEventHasKeyword(
        const EtwSchema *schema, const EtwEvent *event, EtwNameTest *test, void *ctx)
{
    const struct EtwProviderDef *def = keywordsOf(schema, event);
    for (int i = 0; def != NULL && i < def->nameCount[ETW_NAME_KEYWORD]; i++) {
        const EtwNamed *named = &def->names[ETW_NAME_KEYWORD][i];
        if (named->value != 0 && (event->desc.keyword & named->value) == named->value &&
                test(ctx, named->name)) {
            return true;
        }
    }
    return false;
}

typedef struct KeywordList {
    EtwText *out;
    size_t from;
} KeywordList;

static bool addKeyword(void *ctx, const char *name)
{
    KeywordList *list = ctx;
    if (list->out->size > list->from) {
        EtwTextChar(list->out, ' ');
    }
    EtwListElement(list->out, name, strlen(name));
    return false;
}

void EtwEventKeywords(EtwText *out, const EtwSchema *schema, const EtwEvent *event)
{
    KeywordList list = {out, out->size};
    EtwEventHasKeyword(schema, event, addKeyword, &list);
}

void EtwAddEventName(EtwText *out, const EtwSchema *schema, const EtwEvent *event)
{
    if (schema != NULL && schema->event[0] != 0) {
        EtwTextStr(out, schema->event);
    } else if (event->classic) {
        EtwTextPrintf(out, "opcode %u", event->desc.opcode);
    } else {
        EtwTextPrintf(out, "id %u", event->desc.id);
    }
}

void EtwAddLabel(EtwText *out, const EtwSchema *schema, const EtwEvent *event, EtwNameKind kind)
{
    const char *label = EtwEventLabel(schema, event, kind);
    if (label != NULL) {
        EtwTextStr(out, label);
    } else {
        EtwTextDecimal(out, numberOf(event, kind));
    }
}
