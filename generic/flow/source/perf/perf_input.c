/*
 * flow/source/perf/perf_input.c --
 *
 *	The bytes of a file in memory or of a pipe, which is read as far as it is needed.
 */
#include "flow/source/perf/perf_int.h"

enum { PIECE = 256 << 10 };

/* False: the pipe has ended. */
static bool readMore(PerfInput *in)
{
    if (in->used != 0) {
        memmove(in->buffer.data, in->buffer.data + in->used, in->buffer.size - in->used);
        in->buffer.size -= in->used;
        in->used = 0;
    }
    EtwTextReserve(&in->buffer, PIECE);
    int64_t got = in->read(in->readCtx, in->buffer.data + in->buffer.size, PIECE, &in->error);
    in->failed |= got < 0;
    in->ended = got <= 0;
    in->buffer.size += got > 0 ? (size_t)got : 0;
    in->at += got > 0 ? (uint64_t)got : 0;
    return !in->ended;
}

const uint8_t *PerfInputPeek(PerfInput *in, size_t size)
{
    if (in->base != NULL) {
        return size <= in->end - in->at ? in->base + in->at : NULL;
    }
    while (in->buffer.size - in->used < size) {
        if (in->ended || !readMore(in)) {
            return NULL;
        }
    }
    return (const uint8_t *)in->buffer.data + in->used;
}

size_t PerfInputLeft(PerfInput *in)
{
    return in->base != NULL ? (size_t)(in->end - in->at) : in->buffer.size - in->used;
}

void PerfInputSkip(PerfInput *in, size_t size)
{
    if (in->base != NULL) {
        in->at += size;
    } else {
        in->used += size;
    }
}
