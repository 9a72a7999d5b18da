/*
 * schema/learn.c --
 *
 *	What a trace says of its own events: EventSource manifests among them (schema/manifest.c reads
 *	the XML) and the metadata that merge tools put into a file (schema/metadata.c).
 */
#include "schema/internal.h"

struct EtwLearned {
    int dummy;
};

bool EtwSchemaTeaches(const EtwEvent *event)
{
    (void)event;
    return false;
}

bool EtwLearn(EtwLearned **learnedPtr, const EtwEvent *event)
{
    (void)learnedPtr, (void)event;
    return false;
}

void EtwLearnedFree(EtwLearned *learned)
{
    EtwFree(learned);
}

const EtwProviderDef *EtwLearnedFind(const EtwLearned *learned, const EtwEvent *event)
{
    (void)learned, (void)event;
    return NULL;
}

const char *EtwLearnedName(const EtwLearned *learned, const EtwGuid *guid)
{
    (void)learned, (void)guid;
    return NULL;
}
