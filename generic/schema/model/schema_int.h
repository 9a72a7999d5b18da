/*
 * schema/model/schema_int.h --
 *
 *	Shared by the readers of descriptions: limits, and the last step of building a schema.
 */
#ifndef ETW_SCHEMA_INT_H
#define ETW_SCHEMA_INT_H

#include "schema/model/provider_def.h"

enum {
    ETW_MAX_FIELDS = 2048, /* of one event; more are an error */
    ETW_MAX_DEPTH = 16,    /* nested structs */
    ETW_MAX_NAME = 512     /* bytes of a field's name: an array of structs repeats it for each
                          element */
};

/*
 * Set span and counts of each field. False: members are missing, too deep, or a reference is not to
 * an earlier number.
 */
bool EtwFieldsFinish(EtwField *fields, int count);
/*
 * Call rename for each field of finished fields that has the name of an earlier one in the same struct (or at top
 * level): the second "Name" is to be called "Name#2", so that each can be reached by its name.
 */
typedef void EtwFieldRename(void *ctx, int index, const char *name);
void EtwFieldsDistinct(const EtwField *fields, int count, EtwFieldRename *rename, void *ctx);

#endif
