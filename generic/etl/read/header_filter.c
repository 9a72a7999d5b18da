/*
 * etl/read/header_filter.c --
 *
 *	Selects the records of a buffer that a filtered scan delivers, from their headers only: most
 *	records are rejected by one or two comparisons, before their fields are parsed.
 */
#include "etl/read/header_filter.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "etl/record.h"

enum { ID_BYTES = 65536 / 8 };

static void *copy(const void *data, size_t size)
{
    return size != 0 ? memcpy(EtwAlloc(size), data, size) : NULL;
}

static uint8_t *bitsOf(const uint16_t *ids, size_t count)
{
    uint8_t *bits = count != 0 ? EtwAlloc(ID_BYTES) : NULL;
    for (size_t i = 0; i < count; i++) {
        bits[ids[i] / 8] |= (uint8_t)(1u << ids[i] % 8);
    }
    return bits;
}

static inline bool hasBit(const uint8_t *bits, uint16_t id)
{
    return (bits[id / 8] >> id % 8 & 1) != 0;
}

static inline uint64_t hashBit(const void *provider)
{
    return 1ull << (EtwLoad32(provider) * 0x9E3779B1u >> 26);
}

void EtlHeaderFilterFree(EtlHeaderFilter *s)
{
    EtwFree(s->providers);
    EtwFree(s->pids);
    EtwFree(s->ids);
    EtwFree(s->alsoProviders);
    EtwFree(s->alsoIds);
    memset(s, 0, sizeof *s);
}

static void setAlso(EtlHeaderFilter *s, const EtlFilter *filter)
{
    size_t count = filter->alsoProviderCount;
    s->also = count != 0 || filter->alsoIdCount != 0;
    s->alsoProviders = copy(filter->alsoProviders, count * sizeof *filter->alsoProviders);
    s->alsoProviderCount = count;
    for (size_t i = 0; i < count; i++) {
        s->alsoBits |= hashBit(&s->alsoProviders[i]);
    }
    s->alsoIds = bitsOf(filter->alsoIds, filter->alsoIdCount);
}

void EtlHeaderFilterSet(EtlHeaderFilter *s, const EtlFilter *filter, const EtlClock *clock)
{
    EtlHeaderFilterFree(s);
    if (filter == NULL) {
        return;
    }
    s->active = true;
    s->either = filter->either && filter->providerCount != 0 && filter->idCount != 0;
    s->from = EtlClockTicks(clock, filter->from);
    s->to = EtlClockTicks(clock, filter->to);
    s->providers = copy(filter->providers, filter->providerCount * sizeof *filter->providers);
    s->providerCount = filter->providerCount;
    s->pids = copy(filter->pids, filter->pidCount * sizeof *filter->pids);
    s->pidCount = filter->pidCount;
    s->ids = bitsOf(filter->ids, filter->idCount);
    setAlso(s, filter);
}

static inline bool providerPasses(const EtlHeaderFilter *s, const void *provider)
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

static inline bool idPasses(const EtlHeaderFilter *s, uint16_t id)
{
    return s->ids == NULL || hasBit(s->ids, id);
}

static inline bool namePasses(const EtlHeaderFilter *s, uint16_t id, const void *provider)
{
    return s->either ? idPasses(s, id) || providerPasses(s, provider)
                     : idPasses(s, id) && providerPasses(s, provider);
}

static inline bool pidPasses(const EtlHeaderFilter *s, uint32_t pid)
{
    for (size_t i = 0; i < s->pidCount; i++) {
        if (s->pids[i] == pid) {
            return true;
        }
    }
    return s->pidCount == 0;
}

static bool alsoPasses(const EtlHeaderFilter *s, uint16_t id, const void *provider)
{
    if (s->alsoIds != NULL && hasBit(s->alsoIds, id)) {
        return true;
    }
    if ((s->alsoBits & hashBit(provider)) == 0) {
        return false;
    }
    for (size_t i = 0; i < s->alsoProviderCount; i++) {
        if (memcmp(&s->alsoProviders[i], provider, sizeof(EtwGuid)) == 0) {
            return true;
        }
    }
    return false;
}

/* timely: not before `from`. */
static inline bool headPasses(
        const EtlHeaderFilter *s, bool timely, uint16_t id, const void *provider, uint32_t pid)
{
    return (timely && namePasses(s, id, provider) && pidPasses(s, pid)) ||
           (s->also && alsoPasses(s, id, provider));
}

static bool parsedPasses(const EtlHeaderFilter *s, bool timely, const uint8_t *record, size_t left)
{
    EtwEvent event;
    size_t size;
    return EtlRecordParse(record, left, &event, &size) &&
           headPasses(s, timely, event.desc.id, &event.provider, event.pid);
}

/* Kernel and classic records have no id: it counts as 0, as in EtwEvent. */
static bool classicPasses(
        const EtlHeaderFilter *s, bool timely, const uint8_t *record, unsigned type)
{
    bool full = type == ETL_FULL32 || type == ETL_FULL64;
    bool bare = type == ETL_PERFINFO32 || type == ETL_PERFINFO64;
    const void *provider =
            full ? (const void *)(record + 0x18) : EtlGroupGuid(EtwLoad16(record + 6));
    return headPasses(s, timely, 0, provider, bare ? ETW_NO_ID : EtwLoad32(record + 0x0c));
}

bool EtlHeaderFilterPass(
        const EtlHeaderFilter *s, const uint8_t *record, size_t left, int64_t ticks)
{
    unsigned type = record[2];
    bool timely = ticks >= s->from;
    if ((!timely && !s->also) || (ticks >= s->to && s->to != INT64_MAX)) {
        return false;
    }
    if (record[3] != ETL_MARK_TYPED) {
        return parsedPasses(s, timely, record, left);
    }
    switch (type) {
    case ETL_EVENT32:
    case ETL_EVENT64:
        return headPasses(
                s, timely, EtwLoad16(record + 0x28), record + 0x18, EtwLoad32(record + 0x0c));
    case ETL_SYSTEM32:
    case ETL_SYSTEM64:
    case ETL_COMPACT32:
    case ETL_COMPACT64:
    case ETL_PERFINFO32:
    case ETL_PERFINFO64:
    case ETL_FULL32:
    case ETL_FULL64:
        return classicPasses(s, timely, record, type);
    default:
        return parsedPasses(s, timely, record, left);
    }
}
