/*
 * tests/support/played_source.h --
 *
 *	A source of events in memory, for the tests of flow: a file, or a live session that has no event at the moment where
 *	`again` is set. For one file of a program, after check.h.
 *
 *	Play *play = playNew(false);
 *	play->events[play->count++] = &event;
 *	EtwSource *source = &play->base;
 */
#ifndef ETW_TESTS_PLAYED_SOURCE_H
#define ETW_TESTS_PLAYED_SOURCE_H

#include "base/alloc.h"
#include "flow/source/source_int.h"

enum { PLAY_MAX = 64 };

typedef struct Play {
    EtwSource base;
    const EtwEvent *events[PLAY_MAX];
    bool again[PLAY_MAX]; /* live: nothing just now, before this event */
    int count, at;
    int waits, wakes;
    EtlInfo info;
    uint64_t lost;
    const char *warning;
    int *closedPtr;
} Play;

static EtwStatus playNext(EtwSource *source, EtwEvent *event)
{
    Play *p = (Play *)source;
    if (p->at < PLAY_MAX && p->again[p->at]) {
        p->again[p->at] = false;
        return ETW_AGAIN;
    }
    if (p->at == p->count) {
        return ETW_END;
    }
    *event = *p->events[p->at++];
    return ETW_OK;
}

static void playWait(EtwSource *source, int64_t timeoutNs)
{
    (void)timeoutNs;
    ((Play *)source)->waits++;
}

static void playWake(EtwSource *source)
{
    ((Play *)source)->wakes++;
}

static void playClose(EtwSource *source)
{
    Play *p = (Play *)source;
    if (p->closedPtr != NULL) {
        ++*p->closedPtr;
    }
    EtwFree(p);
}

static int playFileCount(const EtwSource *source)
{
    return ((const Play *)source)->info.startTime != 0;
}

static const EtlInfo *playFileInfo(const EtwSource *source, int index, const char **pathPtr)
{
    (void)index;
    *pathPtr = "play.etl";
    return &((const Play *)source)->info;
}

static uint64_t playLost(const EtwSource *source)
{
    return ((const Play *)source)->lost;
}

static int playWarningCount(const EtwSource *source)
{
    return ((const Play *)source)->warning != NULL;
}

static const char *playWarning(const EtwSource *source, int index)
{
    (void)index;
    return ((const Play *)source)->warning;
}

CHECK_UNUSED static Play *playNew(bool live)
{
    static const EtwSourceOps file = {.next = playNext,
            .close = playClose,
            .fileCount = playFileCount,
            .fileInfo = playFileInfo,
            .lost = playLost,
            .warningCount = playWarningCount,
            .warning = playWarning};
    static const EtwSourceOps session = {.next = playNext,
            .wait = playWait,
            .wake = playWake,
            .close = playClose,
            .lost = playLost};
    Play *p = EtwAlloc(sizeof *p);
    p->base.ops = live ? &session : &file;
    return p;
}

#endif
