/*
 * base/alloc.c --
 *
 *	Allocation that aborts on failure (base/alloc.h).
 */
#include "base/alloc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *orDie(void *p, size_t size)
{
    if (p == NULL && size != 0) {
        fprintf(stderr, "etw: out of memory (%zu bytes)\n", size);
        abort();
    }
    return p;
}

void *EtwAlloc(size_t size)
{
    return orDie(calloc(1, size), size);
}

void *EtwRealloc(void *p, size_t size)
{
    return orDie(realloc(p, size), size);
}

char *EtwStrdup(const char *s)
{
    size_t size = strlen(s) + 1;
    return memcpy(EtwAlloc(size), s, size);
}

void EtwFree(void *p)
{
    free(p);
}
