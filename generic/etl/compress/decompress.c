/*
 * etl/compress/decompress.c --
 *
 *	Memory for decoded buffers. The size in a buffer's header is not trusted: streams of a few bytes can decode to
 *	gigabytes, so memory grows with the data that is actually decoded. Real buffers need one allocation.
 */
#include "etl/compress/decompress.h"
#include "base/alloc.h"

enum { USUAL_RATIO = 64, USUAL_ROOM = 4096, GROWTH = 8 };

size_t EtlUnpack(EtlDecodeProc *decode, const uint8_t *in, size_t size, size_t want,
        uint8_t **bytesPtr, size_t *capacityPtr)
{
    size_t capacity = size * USUAL_RATIO + USUAL_ROOM;
    for (;; capacity *= GROWTH) {
        capacity = capacity < want ? capacity : want;
        if (*capacityPtr < capacity) {
            EtwFree(*bytesPtr);
            *bytesPtr = EtwRealloc(NULL, capacity);
            *capacityPtr = capacity;
        }
        size_t got = decode(in, size, *bytesPtr, capacity);
        if (got < capacity || capacity == want) {
            return got;
        }
    }
}
