/*
 * engine/loss_kinds.c --
 *
 *	The kinds of losses of a session (engine/loss_kinds.h).
 */
#include "engine/loss_kinds.h"
#include <stddef.h>

/* clang-format off */
#define ROW(kind, key, member, words, remedy) [ETW_LOSS_##kind] = {key, words, remedy, offsetof(EtwLost, member)}
const EtwLossRow etwLossRows[ETW_LOSS_KINDS] = {
    ROW(NO_BUFFER, "nobuffer", noBuffer, "no free buffer",
        "@buffers MIN,MAX with a higher maximum, or @lossless, which makes programs wait"),
    ROW(TOO_BIG, "toobig", tooBig, "too large", "an event has 64 KB at most, and one buffer (@buffersize)"),
    ROW(FILE_FULL, "filefull", fileFull, "not in the full file",
        "a larger @maxsize, or @mode circular, which replaces the oldest events"),
    ROW(IO, "io", io, "not written to the disk", "free space on the disk, or another @file"),
    ROW(ABANDONED, "abandoned", abandoned, "of killed writers", ""),
    ROW(KERNEL, "kernel", kernel, "overran the kernel's ring buffer",
        "larger ring buffers of the kernel (@buffers MIN,MAX: each CPU's has the size of MIN buffers, more than 16), fewer groups or "
        "processes; @lossless does not cover kernel events"),
    ROW(CONSUMER, "consumer", consumer, "a consumer was too slow", "@buffers MIN,MAX with a higher maximum, or fewer events"),
    ROW(FILE_BUFFERS, "filebuffers", fileBuffers, "buffers that were not written in time", "@buffers MIN,MAX with a higher maximum"),
    ROW(LIVE_BUFFERS, "livebuffers", liveBuffers, "buffers that a consumer was too slow for",
        "@buffers MIN,MAX with a higher maximum, or fewer events"),
};
/* clang-format on */

void EtwLossAddRemedy(EtwText *out, EtwLossKind kind, const char *dash)
{
    for (const char *p = etwLossRows[kind].remedy; *p != 0; p++) {
        if (*p == '@') {
            EtwTextStr(out, dash);
        } else {
            EtwTextChar(out, *p);
        }
    }
}
