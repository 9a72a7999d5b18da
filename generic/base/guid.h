/*
 * base/guid.h --
 *
 *	GUIDs in the memory layout of Windows (Data1..3 little-endian), their text form, and the
 *	GUID that EventSource and TraceLogging derive from a provider's name (SHA-1 of a namespace and the
 *	upper-case name in UTF-16BE, version nibble 5).
 */
#ifndef ETW_BASE_GUID_H
#define ETW_BASE_GUID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct EtwGuid {
    uint8_t bytes[16];
} EtwGuid;

#define ETW_GUID_TEXT 37 /* 8-4-4-4-12 and a NUL, lower case, no braces */

void EtwGuidFormat(const EtwGuid *guid, char text[ETW_GUID_TEXT]);
bool EtwGuidParse(const char *text, EtwGuid *guid); /* with or without braces, any case */
void EtwGuidFromName(const char *utf8Name, EtwGuid *guid);
void EtwGuidRandom(EtwGuid *guid); /* version 4 */

static inline bool EtwGuidEqual(const EtwGuid *a, const EtwGuid *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}
static inline bool EtwGuidIsNull(const EtwGuid *a)
{
    static const EtwGuid zero;
    return EtwGuidEqual(a, &zero);
}

#endif
