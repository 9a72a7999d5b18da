/*
 * tests/support/relog_helper.h --
 *
 *	Shared by the tests of relogging: writes a source's events as a file in memory, and compares
 *	two events byte by byte.
 */
#ifndef ETW_TESTS_RELOGGED_H
#define ETW_TESTS_RELOGGED_H

#include "tests/support/check.h"
#include "flow/relog/relog.h"

/* All of a source as a file in memory. */
__attribute__((unused)) static EtwText Relogged(EtwSource *source, bool compressed)
{
    EtwText out = {0}, header = {0};
    EtwRelog relog;
    EtwEvent event;
    if (!CHECK_EQ(EtwRelogOpen(&relog, source, compressed, &out, NULL), ETW_OK)) {
        return out;
    }
    while (EtwSourceNext(source, &event) == ETW_OK) {
        if (!EtwRelogIsHeader(&relog, &event)) {
            EtwRelogAdd(&relog, &event);
        }
    }
    EtwRelogEnd(&relog, &header);
    CHECK_EQ(out.size, EtlBuilderBytes(relog.output));
    if (CHECK(header.size <= out.size)) {
        memcpy(out.data, header.data, header.size);
    }
    EtwTextFree(&header);
    EtwRelogClose(&relog);
    return out;
}

__attribute__((unused)) static EtwStatus NextEvent(EtlReader *reader, EtwEvent *event)
{
    EtwStatus status;
    do {
        status = EtlReaderNext(reader, event);
    } while (status == ETW_OK && EtlInHeader(EtlReaderInfo(reader), event));
    return status;
}

__attribute__((unused)) static bool SameEvent(const EtwEvent *a, const EtwEvent *b)
{
    return a->time == b->time && a->ticks == b->ticks && a->cpu == b->cpu &&
           a->logger == b->logger && a->recordSize == b->recordSize &&
           memcmp(a->record, b->record, a->recordSize) == 0;
}

#endif
