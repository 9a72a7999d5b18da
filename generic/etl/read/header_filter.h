/*
 * etl/read/header_filter.h --
 *
 *	The compiled form of EtlFilter (reader.h), a filter on record headers: ids as a bitmap, times as
 *	ticks. Private to etl/read.
 */
#ifndef ETW_HEADER_FILTER_H
#define ETW_HEADER_FILTER_H

#include "etl/read/file_header.h"

typedef struct EtlHeaderFilter {
    bool active, either;
    int64_t from, to; /* ticks: from <= t < to, but `to` is included when it is INT64_MAX */
    EtwGuid *providers;
    size_t providerCount;
    uint32_t *pids;
    size_t pidCount;
    uint8_t *ids; /* 65536 bits, or NULL */
    bool also;
    EtwGuid *alsoProviders;
    size_t alsoProviderCount;
    uint64_t alsoBits; /* a bit for the hash of each */
    uint8_t *alsoIds;  /* as ids */
} EtlHeaderFilter;

/* filter NULL: everything passes. Frees a previous filter. */
void EtlHeaderFilterSet(
        EtlHeaderFilter *headerFilter, const EtlFilter *filter, const EtlClock *clock);
void EtlHeaderFilterFree(EtlHeaderFilter *headerFilter);
/*
 * For a record that EtlRecordPeek accepted, with `left` bytes up to the end of its buffer's data.
 */
bool EtlHeaderFilterPass(
        const EtlHeaderFilter *headerFilter, const uint8_t *record, size_t left, int64_t ticks);

#endif
