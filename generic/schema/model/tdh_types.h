/*
 * schema/model/tdh_types.h --
 *
 *	The types of manifests: their names in XML, their numbers in metadata (TDH_INTYPE_*,
 *	TDH_OUTTYPE_* of Windows' tdh.h), and the corresponding types of our decoder. For readers of
 *	descriptions made for Windows.
 */
#ifndef ETW_TDH_TYPES_H
#define ETW_TDH_TYPES_H

#include "schema/model/schema.h"

/* The source of a field's size in such descriptions. */
typedef enum EtwTdhLength {
    ETW_TDH_NO_LENGTH,
    ETW_TDH_LENGTH,         /* field->length bytes or characters */
    ETW_TDH_LENGTH_BY_FIELD /* field->length is the index of a field */
} EtwTdhLength;

/* Numbers of win:UInt32, xs:unsignedInt etc. (any prefix, or none); -1: no such type. */
int EtwTdhInType(const char *name);
int EtwTdhOutType(const char *name);
/* Set the field's in, out, sized and (for types whose size is implied) length. False: the in-type is
 * unknown. */
bool EtwTdhField(EtwField *field, int inType, int outType, EtwTdhLength length);
/* The inverse: the numbers for which EtwTdhField sets this field. False: none. */
bool EtwTdhTypes(const EtwField *field, int *inType, int *outType);

/* Size of a value by ETW_IN_*; 0: variable, or a pointer. */
extern const uint8_t etwFixedSizes[ETW_IN_HEX64 + 1];
static inline int EtwFixedSize(const EtwField *field, int pointerSize)
{
    return field->in == ETW_IN_POINTER ? pointerSize
           : field->in <= ETW_IN_HEX64 ? etwFixedSizes[field->in]
                                       : 0;
}

#endif
