/*
 * etl/filter.c --
 *
 *	Which records of a buffer a filtered scan delivers, from their headers alone: most records
 *	are refused by a comparison or two, before any of their fields is taken.
 */
#include "etl/filter.h"
#include "base/bytes.h"
#include "etl/record.h"

enum { ID_BYTES = 65536 / 8 };

static void *Copy(const void *data, size_t size)
{
    return size != 0 ? memcpy(EtwAlloc(size), data, size) : NULL;
}

void EtlSieveFree(EtlSieve *s)
{
    EtwFree(s->providers);
    EtwFree(s->pids);
    EtwFree(s->ids);
    memset(s, 0, sizeof *s);
}

void EtlSieveSet(EtlSieve *s, const EtlFilter *filter, const EtlClock *clock)
{
    EtlSieveFree(s);
    if (filter == NULL) {
        return;
    }
    s->active = true;
    s->either = filter->either && filter->providerCount != 0 && filter->idCount != 0;
    s->from = EtlClockTicks(clock, filter->from);
    s->to = EtlClockTicks(clock, filter->to);
    s->providers = Copy(filter->providers, filter->providerCount * sizeof *filter->providers);
    s->providerCount = filter->providerCount;
    s->pids = Copy(filter->pids, filter->pidCount * sizeof *filter->pids);
    s->pidCount = filter->pidCount;
    if (filter->idCount != 0) {
        s->ids = EtwAlloc(ID_BYTES);
        for (size_t i = 0; i < filter->idCount; i++) {
            s->ids[filter->ids[i] / 8] |= (uint8_t)(1u << filter->ids[i] % 8);
        }
    }
}

static inline bool ProviderPasses(const EtlSieve *s, const void *provider)
{
    uint64_t low = EtwLoad64(provider);
    for (size_t i = 0; i < s->providerCount; i++) {
        if (EtwLoad64(&s->providers[i]) == low &&
                memcmp(&s->providers[i], provider, sizeof(EtwGuid)) == 0) {
            return true;
        }
    }
    return s->providerCount == 0;
}

static inline bool IdPasses(const EtlSieve *s, uint16_t id)
{
    return s->ids == NULL || (s->ids[id / 8] >> id % 8 & 1);
}

static inline bool NamePasses(const EtlSieve *s, uint16_t id, const void *provider)
{
    return s->either ? IdPasses(s, id) || ProviderPasses(s, provider)
                     : IdPasses(s, id) && ProviderPasses(s, provider);
}

static inline bool PidPasses(const EtlSieve *s, uint32_t pid)
{
    for (size_t i = 0; i < s->pidCount; i++) {
        if (s->pids[i] == pid) {
            return true;
        }
    }
    return s->pidCount == 0;
}

static bool ParsedPasses(const EtlSieve *s, const uint8_t *record, size_t left)
{
    EtwEvent event;
    size_t size;
    return EtlRecordParse(record, left, &event, &size) &&
           NamePasses(s, event.desc.id, &event.provider) && PidPasses(s, event.pid);
}

/* Kernel and classic records have no id: theirs counts as 0, like EtwEvent's. */
static bool ClassicPasses(const EtlSieve *s, const uint8_t *record, unsigned type)
{
    bool full = type == ETL_FULL32 || type == ETL_FULL64;
    bool bare = type == ETL_PERFINFO32 || type == ETL_PERFINFO64;
    const void *provider =
            full ? (const void *)(record + 0x18) : EtlGroupGuid(EtwLoad16(record + 6));
    return NamePasses(s, 0, provider) && PidPasses(s, bare ? ETW_NO_ID : EtwLoad32(record + 0x0c));
}

bool EtlSievePass(const EtlSieve *s, const uint8_t *record, size_t left, int64_t ticks)
{
    unsigned type = record[2];
    if (ticks < s->from || (ticks >= s->to && s->to != INT64_MAX)) {
        return false;
    }
    if (record[3] != ETL_MARK_TYPED) {
        return ParsedPasses(s, record, left);
    }
    switch (type) {
    case ETL_EVENT32:
    case ETL_EVENT64:
        return NamePasses(s, EtwLoad16(record + 0x28), record + 0x18) &&
               PidPasses(s, EtwLoad32(record + 0x0c));
    case ETL_SYSTEM32:
    case ETL_SYSTEM64:
    case ETL_COMPACT32:
    case ETL_COMPACT64:
    case ETL_PERFINFO32:
    case ETL_PERFINFO64:
    case ETL_FULL32:
    case ETL_FULL64:
        return ClassicPasses(s, record, type);
    default:
        return ParsedPasses(s, record, left);
    }
}
