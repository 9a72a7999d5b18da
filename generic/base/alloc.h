/*
 * base/alloc.h --
 *
 *	Allocation that does not fail.
 */
#ifndef ETW_BASE_ALLOC_H
#define ETW_BASE_ALLOC_H

#include <stddef.h>

/* malloc family that aborts with a message when out of memory (sizes are bounded by the caller). */
void *EtwAlloc(size_t size); /* zeroed */
void *EtwRealloc(void *p, size_t size);
char *EtwStrdup(const char *s);
void EtwFree(void *p);

#endif
