/*
 * base/arena.c --
 *
 *	A list of chunks, each filled from its beginning (base/arena.h). Small owners have small chunks.
 */
#include "base/arena.h"
#include "base/alloc.h"
#include <stdint.h>

enum { FIRST_CHUNK = 1 << 10, CHUNK = 16 << 10 };

struct EtwChunk {
    struct EtwChunk *next;
    size_t used, size;
    _Alignas(16) uint8_t data[];
};

void *EtwArenaAlloc(EtwArena *arena, size_t size, size_t align)
{
    struct EtwChunk *chunk = arena->chunks;
    size_t at = chunk != NULL ? (chunk->used + align - 1) & ~(align - 1) : 0;
    if (chunk == NULL || at > chunk->size || chunk->size - at < size) {
        size_t usual = chunk == NULL ? FIRST_CHUNK : CHUNK;
        size_t capacity = size > usual / 4 ? size : usual;
        chunk = EtwAlloc(sizeof *chunk + capacity);
        chunk->size = capacity;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->bytes += sizeof *chunk + capacity;
        at = 0;
    }
    chunk->used = at + size;
    return chunk->data + at;
}

void EtwArenaFree(EtwArena *arena)
{
    for (struct EtwChunk *c = arena->chunks, *next; c != NULL; c = next) {
        next = c->next;
        EtwFree(c);
    }
    *arena = (EtwArena){NULL, 0};
}
