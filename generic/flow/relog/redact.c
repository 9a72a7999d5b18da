/*
 * flow/relog/redact.c --
 *
 *	Redacts fields of an event (flow/relog/redact.h). The event is decoded to a list of steps,
 *	and encoded again with the redacted values replaced. The fields are determined once for each
 *	schema.
 */
#include "flow/relog/redact.h"
#include "predicate/glob.h"
#include "schema/model/encode.h"
#include "base/hash_table.h"

typedef struct Redaction { /* for one schema */
    EtwTableNode node;
    const EtwSchema *schema;
    bool any;
    bool *redacted; /* for each field */
} Redaction;

/* One callback of the decoder, in order. */
typedef enum StepKind { STEP_VALUE, STEP_BEGIN, STEP_END } StepKind;
typedef struct Step {
    StepKind kind;
    uint32_t count; /* STEP_BEGIN of an array: number of its elements */
    EtwValue value;
} Step;

struct EtwRedact {
    EtwSchemaStore *store;
    char **globs;
    bool *used; /* a field of some event matched the glob of this index */
    int globCount;
    EtwTable redactions;
    Redaction *last;
    Step *steps; /* of the current event */
    size_t stepCount, stepCapacity, at;
    size_t *open; /* indexes of steps that begin an open struct or array */
    size_t openCount, openCapacity;
    EtwText payload, filler;
};

/* ---- Fields to redact ------------------------------------------------------------------------ */

/* A pattern for a name also matches further fields of that name in the event: Name#2 (field_layout.c). */
static bool matches(const EtwRedact *r, const char *name)
{
    bool any = false;
    size_t base = strcspn(name, "#");
    for (int i = 0; i < r->globCount; i++) {
        if (EtwGlobMatch(r->globs[i], strlen(r->globs[i]), name, strlen(name), true) ||
                EtwGlobMatch(r->globs[i], strlen(r->globs[i]), name, base, true)) {
            any = r->used[i] = true;
        }
    }
    return any;
}

/* A number that counts another field is not redacted: the field that it counts has its own name. */
static Redaction *newRedaction(EtwRedact *r, const EtwSchema *schema)
{
    Redaction *redaction = EtwAlloc(sizeof *redaction);
    redaction->schema = schema;
    redaction->redacted = EtwAlloc((size_t)schema->fieldCount + 1);
    for (int i = 0; i < schema->fieldCount; i++) {
        const EtwField *f = &schema->fields[i];
        for (int k = i; matches(r, f->name) && k < i + f->span && k < schema->fieldCount; k++) {
            redaction->redacted[k] = !schema->fields[k].counts;
            redaction->any |= redaction->redacted[k];
        }
    }
    return redaction;
}

static Redaction *redactionOf(EtwRedact *r, const EtwSchema *schema)
{
    if (r->last != NULL && r->last->schema == schema) {
        return r->last;
    }
    uint64_t hash = EtwHashPointer(schema);
    Redaction *redaction = (Redaction *)EtwTableFirst(&r->redactions, hash);
    while (redaction != NULL && redaction->schema != schema) {
        redaction = (Redaction *)redaction->node.next;
    }
    if (redaction == NULL) {
        redaction = newRedaction(r, schema);
        EtwTableAdd(&r->redactions, &redaction->node, hash);
    }
    return r->last = redaction;
}

/* ---- The event as steps ---------------------------------------------------------------------- */

static Step *addStep(EtwRedact *r, StepKind kind)
{
    if (r->stepCount == r->stepCapacity) {
        r->stepCapacity = r->stepCapacity != 0 ? 2 * r->stepCapacity : 64;
        r->steps = EtwRealloc(r->steps, r->stepCapacity * sizeof *r->steps);
    }
    Step *step = &r->steps[r->stepCount++];
    *step = (Step){.kind = kind};
    return step;
}

/* A value or struct is an element of the innermost open array. */
static void countElement(EtwRedact *r)
{
    if (r->openCount != 0) {
        r->steps[r->open[r->openCount - 1]].count++;
    }
}

static void onValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    EtwRedact *r = ctx;
    (void)field;
    countElement(r);
    addStep(r, STEP_VALUE)->value = *value;
}

static void onBegin(void *ctx, const EtwField *field, bool isStruct, int count)
{
    EtwRedact *r = ctx;
    (void)field;
    (void)isStruct;
    (void)count;
    countElement(r);
    if (r->openCount == r->openCapacity) {
        r->openCapacity = r->openCapacity != 0 ? 2 * r->openCapacity : 16;
        r->open = EtwRealloc(r->open, r->openCapacity * sizeof *r->open);
    }
    addStep(r, STEP_BEGIN);
    r->open[r->openCount++] = r->stepCount - 1;
}

static void onEnd(void *ctx, const EtwField *field, bool isStruct)
{
    EtwRedact *r = ctx;
    (void)field;
    (void)isStruct;
    r->openCount--;
    addStep(r, STEP_END);
}

static const EtwVisitor visitor = {onValue, onBegin, onEnd, NULL};

/* ---- Encoding -------------------------------------------------------------------------------- */

static Step *nextStep(EtwRedact *r, StepKind kind)
{
    return r->at < r->stepCount && r->steps[r->at].kind == kind ? &r->steps[r->at++] : NULL;
}

/* Replace a text by stars: as many as `given` requires, otherwise "***". */
static void redactText(EtwRedact *r, EtwValue *value, size_t given)
{
    bool wide = value->kind == ETW_V_TEXT16;
    size_t stars = given == 0 ? 3 : wide ? given / 2 : given;
    r->filler.size = 0;
    for (size_t i = 0; i < stars; i++) {
        EtwTextAdd(&r->filler, "*\0", wide ? 2 : 1);
    }
    value->data = (const uint8_t *)r->filler.data;
    value->size = r->filler.size;
}

static void redactBytes(EtwRedact *r, EtwValue *value, size_t size)
{
    r->filler.size = 0;
    EtwTextReserve(&r->filler, size + 1);
    memset(r->filler.data, 0, size);
    value->data = (const uint8_t *)r->filler.data;
    value->size = size;
}

/* given: the size that the schema or an earlier field requires, 0: none. */
static void redactValue(EtwRedact *r, EtwValue *value, size_t given)
{
    static const uint8_t nobody[] = {1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}; /* S-1-0-0 */
    switch (value->kind) {
    case ETW_V_TEXT:
    case ETW_V_TEXT16:
        redactText(r, value, given);
        break;
    case ETW_V_BYTES:
        redactBytes(r, value, given);
        break;
    case ETW_V_GUID:
    case ETW_V_SYSTEMTIME:
        redactBytes(r, value, 16);
        break;
    case ETW_V_SID:
        value->data = nobody;
        value->size = sizeof nobody;
        break;
    default:
        value->u = 0; /* a double, too */
        break;
    }
}

static EtwStatus sourceValue(void *ctx, const EtwField *field, EtwValue *value, EtwError *errPtr)
{
    EtwRedact *r = ctx;
    const Step *step = nextStep(r, STEP_VALUE);
    size_t given = value->size;
    (void)errPtr;
    if (step == NULL) {
        return ETW_END;
    }
    *value = step->value;
    if (r->last->redacted[field - r->last->schema->fields]) {
        redactValue(r, value, given);
    }
    return ETW_OK;
}

static EtwStatus sourceBegin(
        void *ctx, const EtwField *field, bool isStruct, uint32_t *countPtr, EtwError *errPtr)
{
    const Step *step = nextStep(ctx, STEP_BEGIN);
    (void)field;
    (void)errPtr;
    if (step == NULL) {
        return ETW_END;
    }
    if (!isStruct) {
        *countPtr = step->count;
    }
    return ETW_OK;
}

static void sourceEnd(void *ctx, const EtwField *field, bool isStruct)
{
    (void)field;
    (void)isStruct;
    nextStep(ctx, STEP_END);
}

static const EtwFieldSource source = {sourceValue, sourceBegin, sourceEnd};

/* ---- Events ---------------------------------------------------------------------------------- */

EtwRedacted EtwRedactEvent(EtwRedact *r, EtlRebuild *rebuild, EtwEvent *event)
{
    const EtwSchema *schema = EtwSchemaOf(r->store, event);
    if (schema == NULL) {
        return event->payloadSize != 0 ? ETW_REDACT_UNKNOWN : ETW_REDACT_NONE;
    }
    bool any = redactionOf(r, schema)->any;
    if (!any) {
        return ETW_REDACT_NONE;
    }
    r->stepCount = r->at = r->openCount = 0;
    r->payload.size = 0;
    EtwDecode(schema, event, &visitor, r);
    EtwStatus status = EtwEncode(&r->payload, schema, event->pointerSize, &source, r, NULL);
    bool whole = (status == ETW_OK || status == ETW_END) && r->at == r->stepCount;
    if (!whole || !EtlRebuildPayload(rebuild, event, r->payload.data, r->payload.size)) {
        return ETW_REDACT_UNKNOWN;
    }
    return ETW_REDACT_DONE;
}

EtwRedact *EtwRedactNew(EtwSchemaStore *store, const char *const *globs, int count)
{
    EtwRedact *r = EtwAlloc(sizeof *r);
    r->store = store;
    r->globs = EtwAlloc(((size_t)count + 1) * sizeof *r->globs);
    r->used = EtwAlloc((size_t)count + 1);
    for (int i = 0; i < count; i++) {
        r->globs[r->globCount++] = EtwStrdup(globs[i]);
    }
    return r;
}

bool EtwRedactUnused(const EtwRedact *r, EtwText *out)
{
    bool any = false;
    for (int i = 0; i < r->globCount; i++) {
        if (!r->used[i]) {
            EtwTextStr(out, any ? ", \"" : "\"-redact\": no event has a field that matches \"");
            EtwTextStr(out, r->globs[i]);
            EtwTextChar(out, '"');
            any = true;
        }
    }
    return any;
}

static void freeRedactions(EtwTable *redactions)
{
    for (size_t i = 0; redactions->slots != NULL && i <= redactions->mask; i++) {
        for (EtwTableNode *n = redactions->slots[i], *next; n != NULL; n = next) {
            next = n->next;
            EtwFree(((Redaction *)n)->redacted);
            EtwFree(n);
        }
    }
    EtwFree(redactions->slots);
}

void EtwRedactFree(EtwRedact *r)
{
    if (r == NULL) {
        return;
    }
    freeRedactions(&r->redactions);
    for (int i = 0; i < r->globCount; i++) {
        EtwFree(r->globs[i]);
    }
    EtwFree(r->globs);
    EtwFree(r->used);
    EtwFree(r->steps);
    EtwFree(r->open);
    EtwTextFree(&r->payload);
    EtwTextFree(&r->filler);
    EtwFree(r);
}
