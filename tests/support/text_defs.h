/*
 * tests/support/text_defs.h --
 *
 *	Reads definitions from a text with one of the readers of schema/model/text_defs.h. Included
 *	after check.h by one file of a program.
 */
#ifndef ETW_TESTS_TEXT_DEFS_H
#define ETW_TESTS_TEXT_DEFS_H

#include "schema/model/text_defs.h"

enum { MAX_DEFS = 8 };

typedef struct Defs {
    int count;
    EtwProviderDef *defs[MAX_DEFS];
} Defs;

static void TakeDef(void *ctx, EtwProviderDef *def)
{
    Defs *defs = ctx;
    if (defs->count < MAX_DEFS) {
        defs->defs[defs->count++] = def;
    } else {
        EtwDefFree(def);
    }
}

typedef EtwStatus DefReader(const char *from, const void *data, size_t size, EtwDefProc *add,
        void *ctx, EtwError *errPtr);

static Defs DefsRead(
        DefReader *reader, const char *from, const char *text, EtwStatus want, EtwError *errPtr)
{
    Defs defs = {0};
    EtwError err = {0};
    EtwStatus status = reader(from, text, strlen(text), TakeDef, &defs, &err);
    CHECK_MSG(status == want, "status %d: %s", status, err.message);
    if (errPtr != NULL) {
        *errPtr = err;
    }
    return defs;
}

static void DefsFree(Defs *defs)
{
    for (int i = 0; i < defs->count; i++) {
        EtwDefFree(defs->defs[i]);
    }
}

#endif
