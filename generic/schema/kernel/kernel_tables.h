/*
 * schema/kernel/kernel_tables.h --
 *
 *	The tables that schema/kernel/kernel_classes.c reads; its header comment explains their notation.
 *	kernel_tables.c is generated, kernel_extra_rows.c is written by hand, kernel_maps.c has the names of values.
 */
#ifndef ETW_KERNEL_TABLES_H
#define ETW_KERNEL_TABLES_H

#include "schema/model/provider_def.h"

typedef struct EtwKernelRow {
    const char *versions; /* "2,3"; NULL: a name only, the layout is unknown */
    const char *events;   /* "10 Read,11 Write": opcode and name */
    const char *fields;   /* "ProcessId:pid ImageFileName:astr" */
} EtwKernelRow;

typedef struct EtwKernelClass {
    const char *name; /* provider's name; NULL ends a table */
    const char *guid;
    const EtwKernelRow *rows;
    int rowCount;
} EtwKernelClass;

typedef struct EtwKernelMap {
    const char *name;
    bool bits;
    const char *values; /* "0 Initialized,1 Ready", numbers in the notation of strtoull */
} EtwKernelMap;

extern const EtwKernelClass etwKernelTables[]; /* generated */
extern const EtwKernelClass etwKernelRows[];   /* written by hand. If etwKernelTables also has a
                                                  layout for the same version of an opcode, that
                                                  one is the first */
extern const EtwKernelMap etwKernelMaps[];     /* name NULL marks the end */

#endif
