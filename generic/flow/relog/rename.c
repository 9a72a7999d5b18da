/*
 * flow/relog/rename.c --
 *
 *	Replaces names (flow/relog/rename.h) in two blobs: provider traits (item 12) begin with a
 *	size and the name, an event's metadata (item 11) with a size, tags and the name.
 */
#include "flow/relog/rename.h"
#include "etl/write/record_patch.h"

enum { TRAITS_NAME = 2, META_TAGS = 2 };

typedef struct Name {
    char *provider, *event; /* old names; event NULL: the provider is renamed */
    char *to;
    EtwGuid made, toMade; /* derived from the provider's names */
} Name;

struct EtwRename {
    Name *names;
    int count;
    EtwText blob;
};

/* The NUL-terminated text at `at`; NULL: not terminated. */
static const char *nameAt(const uint8_t *blob, size_t size, size_t at)
{
    return at < size && memchr(blob + at, 0, size - at) != NULL ? (const char *)blob + at : NULL;
}

static const char *providerName(const EtwEvent *event)
{
    return event->traits != NULL ? nameAt(event->traits, event->traitsSize, TRAITS_NAME) : NULL;
}

/* The name follows the tags, which continue while their highest bit is set. */
static const char *eventName(const EtwEvent *event)
{
    size_t at = META_TAGS;
    if (event->meta == NULL) {
        return NULL;
    }
    while (at < event->metaSize && event->meta[at] & 0x80) {
        at++;
    }
    return nameAt(event->meta, event->metaSize, at + 1);
}

/*
 * Copy the blob with the name `old`, which is part of it, replaced. The blob's size is stored in
 * front.
 */
static void replaceName(
        EtwText *out, const uint8_t *blob, size_t size, const char *old, const char *name)
{
    size_t head = (size_t)((const uint8_t *)old - blob), tail = head + strlen(old);
    out->size = 0;
    EtwTextAdd(out, blob, head);
    EtwTextAdd(out, name, strlen(name));
    EtwTextAdd(out, blob + tail, size - tail);
    EtwStore16(out->data, (uint16_t)out->size);
}

static const Name *find(const EtwRename *r, const char *provider, const char *event)
{
    for (int i = 0; i < r->count; i++) {
        const Name *n = &r->names[i];
        bool any = n->event != NULL && strcmp(n->provider, "*") == 0;
        bool same = (n->event == NULL) == (event == NULL) &&
                    (event == NULL || strcmp(n->event, event) == 0);
        if (same && (any || (provider != NULL && strcmp(n->provider, provider) == 0))) {
            return n;
        }
    }
    return NULL;
}

static bool renameEvent(
        EtwRename *r, EtlRebuild *rebuild, EtwEvent *event, const char *old, const char *name)
{
    replaceName(&r->blob, event->meta, event->metaSize, old, name);
    return EtlRebuildItem(rebuild, event, ETL_ITEM_SCHEMA_TL, r->blob.data, r->blob.size);
}

static bool renameProvider(
        EtwRename *r, EtlRebuild *rebuild, EtwEvent *event, const char *old, const Name *name)
{
    EtlEdit edit = {.fields = 1u << ETL_EDIT_PROVIDER, .provider = name->toMade};
    replaceName(&r->blob, event->traits, event->traitsSize, old, name->to);
    if (!EtlRebuildItem(rebuild, event, ETL_ITEM_PROV_TRAITS, r->blob.data, r->blob.size)) {
        return false;
    }
    if (EtwGuidEqual(&name->made, &event->provider)) {
        event->provider = edit.provider;
        EtlEditApply(&edit, EtlRebuildRecord(rebuild), event->recordSize);
    }
    return true;
}

bool EtwRenameEvent(EtwRename *r, EtlRebuild *rebuild, EtwEvent *event)
{
    const char *provider = providerName(event), *name = eventName(event);
    const Name *ofEvent = name != NULL ? find(r, provider, name) : NULL;
    const Name *ofProvider = provider != NULL ? find(r, provider, NULL) : NULL;
    bool done = ofEvent != NULL && renameEvent(r, rebuild, event, name, ofEvent->to);
    if (ofProvider != NULL) { /* the new record has the name at another address */
        done |= renameProvider(r, rebuild, event, providerName(event), ofProvider);
    }
    return done;
}

/* ---- The list -------------------------------------------------------------------------------- */

static EtwStatus takePair(Name *n, const char *old, const char *to, EtwError *errPtr)
{
    const char *slash = strchr(old, '/');
    size_t size = slash != NULL ? (size_t)(slash - old) : strlen(old);
    n->provider = EtwStrdup(old);
    n->provider[size] = 0;
    n->event = slash != NULL ? EtwStrdup(slash + 1) : NULL;
    n->to = EtwStrdup(to);
    EtwGuidFromName(n->provider, &n->made);
    EtwGuidFromName(to, &n->toMade);
    if (size == 0 || to[0] == 0 || (slash != NULL && slash[1] == 0)) {
        return EtwFail(errPtr, ETW_E_ARG, "RENAME", old,
                "expected PROVIDER or PROVIDER/EVENT and a new name for \"-rename\" but got "
                "\"%.100s\" and \"%.100s\"",
                old, to);
    }
    return ETW_OK;
}

EtwStatus EtwRenameNew(EtwRename **renamePtr, const char *const *pairs, int count, EtwError *errPtr)
{
    EtwRename *r = *renamePtr = EtwAlloc(sizeof *r);
    EtwStatus status = ETW_OK;
    r->names = EtwAlloc(((size_t)count / 2 + 1) * sizeof *r->names);
    for (int i = 0; i + 1 < count && status == ETW_OK; i += 2) {
        status = takePair(&r->names[r->count++], pairs[i], pairs[i + 1], errPtr);
    }
    if (status != ETW_OK) {
        EtwRenameFree(r);
        *renamePtr = NULL;
    }
    return status;
}

void EtwRenameFree(EtwRename *r)
{
    for (int i = 0; r != NULL && i < r->count; i++) {
        EtwFree(r->names[i].provider);
        EtwFree(r->names[i].event);
        EtwFree(r->names[i].to);
    }
    if (r != NULL) {
        EtwFree(r->names);
        EtwTextFree(&r->blob);
        EtwFree(r);
    }
}
