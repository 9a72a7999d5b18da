/*
 * base/arena.h --
 *
 *	Memory that is freed all at once, for trees and definitions.
 */
#ifndef ETW_BASE_ARENA_H
#define ETW_BASE_ARENA_H

#include <stddef.h>

typedef struct EtwArena { /* zeroed: empty */
    struct EtwChunk *chunks;
    size_t bytes; /* total allocated from the system */
} EtwArena;

/* Zeroed memory, aligned to `align` (a power of two up to 16), valid until the arena is freed. */
void *EtwArenaAlloc(EtwArena *arena, size_t size, size_t align);
void EtwArenaFree(EtwArena *arena);

#endif
