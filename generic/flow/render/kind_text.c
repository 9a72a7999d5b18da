/*
 * flow/render/kind_text.c --
 *
 *	The table of texts (flow/render/kind_text.h). A kind replaces the one in its place.
 */
#include "flow/render/kind_text.h"

static bool isKind(
        const EtwKindText *k, const EtwEvent *e, const EtwSchema *schema, const char *provider)
{
    return k->used && k->schema == schema && k->provider == provider &&
           memcmp(&k->desc, &e->desc, sizeof e->desc) == 0 &&
           memcmp(&k->guid, &e->provider, sizeof e->provider) == 0;
}

EtwKindText *EtwKindTextOf(EtwKindTexts *texts, const EtwEvent *e, const EtwSchema *schema,
        const char *name, const char *guid)
{
    const char *provider = name != guid ? name : NULL;
    uint64_t mixed =
            ((uintptr_t)schema ^ e->desc.id ^ EtwLoad32(e->provider.bytes)) * 0x9E3779B97F4A7C15u;
    EtwKindText *k = &texts->kinds[mixed >> 59];
    if (!isKind(k, e, schema, provider)) {
        k->schema = schema;
        k->provider = provider;
        k->desc = e->desc;
        k->guid = e->provider;
        k->used = true;
        for (int i = 0; i < ETW_KIND_PARTS; i++) {
            k->parts[i].size = 0;
        }
    }
    return k;
}

void EtwKindTextsFree(EtwKindTexts *texts)
{
    for (int i = 0; texts != NULL && i < ETW_KIND_TEXTS; i++) {
        for (int part = 0; part < ETW_KIND_PARTS; part++) {
            EtwTextFree(&texts->kinds[i].parts[part]);
        }
    }
    EtwFree(texts);
}
