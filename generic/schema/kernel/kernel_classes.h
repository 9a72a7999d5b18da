/*
 * schema/kernel/kernel_classes.h --
 *
 *	The classes of Windows' kernel logger and of tools that merge its files: their definitions,
 *	for whoever lists what is known, and how wide a pointer is in their events. Schemas of their events
 *	come from EtwSchemaOf like any other.
 */
#ifndef ETW_KERNEL_CLASSES_H
#define ETW_KERNEL_CLASSES_H

#include "schema/model/provider_def.h"

/* Schema of a record of Windows' kernel or of a class that belongs to it; NULL: not known. May
 * depend on the payload's size. */
const EtwSchema *EtwKernelSchema(const EtwEvent *event);
/* A class by its GUID; NULL: it is none. Lives as long as the process. Thread-safe. */
const EtwProviderDef *EtwKernelFind(const EtwGuid *guid);
/* Each class, by name. */
void EtwKernelVisit(void (*visit)(void *ctx, const EtwProviderDef *def), void *ctx);
/*
 * The size of a pointer in the payload of a kernel class's event. It is the record's, except where a
 * program of one width wrote down (a classic record) what a system of the other width had said: then
 * the width that the payload fits is the answer.
 */
uint8_t EtwKernelPointerSize(const EtwEvent *event);
/* Name of a class of Windows' kernel logger or merge tools, NULL when it is none. */
const char *EtwKernelClassName(const EtwGuid *guid);
/* Name and GUID of the class number `index`; NULL: there are no more. */
const char *EtwKernelClassAt(int index, EtwGuid *guid);

#endif
