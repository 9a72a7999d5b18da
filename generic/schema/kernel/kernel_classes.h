/*
 * schema/kernel/kernel_classes.h --
 *
 *	The classes of Windows' kernel logger and of tools that merge its files: their definitions, for
 *	lists of known providers, and the width of pointers in their events. EtwSchemaOf returns the schemas
 *	of their events, as of all others.
 */
#ifndef ETW_KERNEL_CLASSES_H
#define ETW_KERNEL_CLASSES_H

#include "schema/model/provider_def.h"

/* Schema of a record of Windows' kernel, or of a related class; NULL: unknown. May
 * depend on the payload's size. */
const EtwSchema *EtwKernelSchema(const EtwEvent *event);
/* A class by its GUID; NULL: not a kernel class. Lives as long as the process. Thread-safe. */
const EtwProviderDef *EtwKernelFind(const EtwGuid *guid);
/* Visit each class, by name. */
void EtwKernelVisit(void (*visit)(void *ctx, const EtwProviderDef *def), void *ctx);
/*
 * The size of a pointer in the payload of a kernel class's event. Usually that of the record. When a
 * program of one width has copied an event of a system of the other width to a classic record, it is
 * the width that matches the payload.
 */
uint8_t EtwKernelPointerSize(const EtwEvent *event);
/* Name of a class of Windows' kernel logger or merge tools; NULL: another GUID. */
const char *EtwKernelClassName(const EtwGuid *guid);
/* Name and GUID of the class number `index`; NULL: there are no more. */
const char *EtwKernelClassAt(int index, EtwGuid *guid);

#endif
