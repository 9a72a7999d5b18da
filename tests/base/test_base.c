/*
 * tests/base/test_base.c --
 *
 *	The small tools of generic/base: decimal numbers and short copies, dates, heap, hash tables, arena.
 */
#include "base/text.h"
#include "base/calendar.h"
#include "base/hash_table.h"
#include "base/heap.h"
#include "base/arena.h"
#include "base/slot_table.h"
#include "tests/support/check.h"

static void checkDecimal(uint64_t value)
{
    char want[32], got[32];
    int size = snprintf(want, sizeof want, "%llu", (unsigned long long)value);
    memset(got, '?', sizeof got);
    *EtwPutDecimal(got, value) = '\0';
    CHECK_STR(got, want);
    CHECK_EQ(got[size + 1], '?');
}

/* Around each power of ten and of two, where the number of digits is decided. */
static void decimal_1_1_edges(void)
{
    uint64_t ten = 1;
    for (int i = 0; i < 20; i++, ten *= 10) {
        checkDecimal(ten - 1);
        checkDecimal(ten);
        checkDecimal(ten + 1);
    }
    for (int bit = 0; bit < 64; bit++) {
        checkDecimal(((uint64_t)1 << bit) - 1);
        checkDecimal((uint64_t)1 << bit);
    }
    checkDecimal(UINT64_MAX);
}

/* Every size up to beyond the longest that is copied without a call; nothing beside is touched. */
static void copy_1_1_sizes(void)
{
    uint8_t from[200], to[202], want[202];
    for (int i = 0; i < 200; i++) {
        from[i] = (uint8_t)(i * 7 + 1);
    }
    for (size_t size = 0; size <= sizeof from; size++) {
        memset(to, 0xAA, sizeof to);
        memset(want, 0xAA, sizeof want);
        memcpy(want + 1, from, size);
        EtwCopyShort(to + 1, from, size);
        CHECK_MEM(to, sizeof to, want, sizeof want);
    }
}

/* ---- Calendar -------------------------------------------------------------------------------- */

static void checkDate(int64_t day, const char *want)
{
    char text[40];
    EtwCivil date = EtwCivilOfDay(day);
    snprintf(text, sizeof text, "%lld-%d-%d", (long long)date.year, date.month, date.day);
    CHECK_STR(text, want);
    CHECK_EQ(EtwDayOfCivil(date.year, date.month, date.day), day);
}

static void calendar_1_1_edges(void)
{
    checkDate(0, "1970-1-1");
    checkDate(-1, "1969-12-31");
    checkDate(-134774, "1601-1-1");
    checkDate(11016, "2000-2-29");
    checkDate(11017, "2000-3-1");
    checkDate(47540, "2100-2-28");
    checkDate(47541, "2100-3-1");
    checkDate(-719468, "0-3-1");
    checkDate(-719469, "0-2-29");
    checkDate(-719529, "-1-12-31");
}

/* Each day of four centuries is the one after the last. */
static void calendar_1_2_days(void)
{
    EtwCivil last = EtwCivilOfDay(-150000);
    for (int64_t day = -149999; day < 0; day++) {
        EtwCivil date = EtwCivilOfDay(day);
        bool next = date.day == last.day + 1 ||
                    (date.day == 1 && last.day >= 28 &&
                            (date.month == last.month + 1 || (date.month == 1 && last.month == 12 &&
                                                                     date.year == last.year + 1)));
        CHECK(next);
        CHECK_EQ(EtwDayOfCivil(date.year, date.month, date.day), day);
        last = date;
    }
}

static void calendar_1_3_carries_over(void)
{
    CHECK_EQ(EtwDayOfCivil(2001, 1, 32), EtwDayOfCivil(2001, 2, 1));
    CHECK_EQ(EtwDayOfCivil(2001, 3, 0), EtwDayOfCivil(2001, 2, 28));
    CHECK_EQ(EtwDayOfCivil(2001, 13, 1), EtwDayOfCivil(2002, 1, 1));
}

static void checkFiletime(uint64_t filetime, const char *want)
{
    EtwText text = {0};
    EtwTextFiletime(&text, filetime);
    EtwTextChar(&text, '\0');
    CHECK_STR(text.data, want);
    EtwTextFree(&text);
}

static void calendar_2_1_filetimes(void)
{
    checkFiletime(0, "1601-01-01T00:00:00.0000000Z");
    checkFiletime((uint64_t)ETW_FILETIME_EPOCH, "1970-01-01T00:00:00.0000000Z");
    checkFiletime((uint64_t)ETW_FILETIME_EPOCH - 1, "1969-12-31T23:59:59.9999999Z");
    checkFiletime(UINT64_MAX, "60056-05-28T05:36:10.9551615Z");
    CHECK_EQ(EtwFiletimeOfNs(0), ETW_FILETIME_EPOCH);
    CHECK_EQ(EtwFiletimeOfNs(-1), ETW_FILETIME_EPOCH - 1);
    CHECK_EQ(EtwFiletimeOfNs(199), ETW_FILETIME_EPOCH + 1);
    CHECK_EQ(EtwNsOfFiletime(ETW_FILETIME_EPOCH - 3), -300);
}

/* ---- Heap ------------------------------------------------------------------------------------ */

#define INT_BEFORE(a, b) ((a) < (b))
ETW_HEAP(Ints, int, INT_BEFORE)

static unsigned Random(unsigned *state)
{
    *state = *state * 1103515245u + 12345u;
    return *state >> 16;
}

static void heap_1_1_sorts(void)
{
    int heap[100];
    unsigned state = 1;
    for (size_t size = 0; size <= 100; size++) {
        long sum = 0;
        for (size_t i = 0; i < size; i++) {
            int value = (int)(Random(&state) % 50);
            sum += value;
            IntsPush(heap, i, value);
        }
        int last = -1;
        for (size_t left = size; left > 0; left--) {
            CHECK(heap[0] >= last);
            last = heap[0];
            sum -= last;
            IntsPop(heap, left - 1);
        }
        CHECK_EQ(sum, 0);
    }
}

static void heap_1_2_replaces(void)
{
    int heap[10];
    for (int i = 0; i < 10; i++) {
        IntsPush(heap, (size_t)i, 10 - i);
    }
    for (int i = 1; i <= 100; i++) { /* the first is always the least of ten in a row */
        CHECK_EQ(heap[0], i);
        IntsReplace(heap, 10, i + 10);
    }
}

/* ---- Hash table ------------------------------------------------------------------------------ */

typedef struct Number {
    EtwTableNode node; /* first */
    unsigned key;
} Number;

static Number *findNumber(const EtwTable *t, unsigned key, uint64_t hash)
{
    for (EtwTableNode *n = EtwTableFirst(t, hash); n != NULL; n = n->next) {
        if (n->hash == hash && ((Number *)n)->key == key) {
            return (Number *)n;
        }
    }
    return NULL;
}

static void countNode(void *ctx, EtwTableNode *node)
{
    *(unsigned *)ctx += ((Number *)node)->key;
}

static void freeNode(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

/* Keys whose hashes all differ, and keys that all share one. */
static void checkTable(uint64_t (*hashOf)(unsigned key))
{
    enum { KEYS = 500 };
    EtwTable table = {0};
    unsigned sum = 0;
    CHECK(findNumber(&table, 1, hashOf(1)) == NULL);
    for (unsigned key = 0; key < KEYS; key++) {
        Number *number = EtwAlloc(sizeof *number);
        number->key = key;
        EtwTableAdd(&table, &number->node, hashOf(key));
    }
    CHECK_EQ(table.count, KEYS);
    for (unsigned key = 0; key < KEYS; key += 2) {
        Number *number = findNumber(&table, key, hashOf(key));
        CHECK(number != NULL);
        EtwTableRemove(&table, &number->node);
        EtwFree(number);
    }
    CHECK_EQ(table.count, KEYS / 2);
    for (unsigned key = 0; key < KEYS; key++) {
        CHECK_EQ(findNumber(&table, key, hashOf(key)) != NULL, key % 2);
    }
    EtwTableVisit(&table, countNode, &sum);
    CHECK_EQ(sum, KEYS * KEYS / 4);
    EtwTableFree(&table, freeNode);
    CHECK_EQ(table.count, 0);
    CHECK(EtwTableFirst(&table, hashOf(1)) == NULL);
}

static uint64_t mixed(unsigned key)
{
    return EtwHashNumber(key);
}

static uint64_t same(unsigned key)
{
    (void)key;
    return 7;
}

static void hash_1_1_add_find_remove(void)
{
    checkTable(mixed);
    checkTable(same);
}

static size_t longestChain(const EtwTable *table)
{
    size_t longest = 0;
    for (size_t i = 0; i <= table->mask; i++) {
        size_t length = 0;
        for (const EtwTableNode *n = table->slots[i]; n != NULL; n = n->next) {
            length++;
        }
        longest = length > longest ? length : longest;
    }
    return longest;
}

/*
 * Keys that all fell into one chain of the table whose hash had no secret: multiples of the multiplier's
 * inverse, and GUIDs whose halves cancel each other.
 */
static void hash_1_3_hostile_keys(void)
{
    enum { KEYS = 4096, LONGEST = 24 };
    const uint64_t inverse = 0xF1DE83E19937733Du; /* of 0x9E3779B97F4A7C15 */
    EtwTable numbers = {0}, guids = {0};
    CHECK((osSecret[0] | osSecret[1]) != 0);
    CHECK(osSecret[0] != osSecret[1]);
    for (uint64_t i = 1; i <= KEYS; i++) {
        uint64_t product = i << 13, high = product >> 32;
        /* the former hash of this key is product ^ product >> 32 ^ product >> 48, whose low bits are 0 */
        uint64_t key = (product ^ high >> 16) * inverse;
        Number *a = EtwAlloc(sizeof *a), *b = EtwAlloc(sizeof *b);
        EtwGuid guid;
        uint64_t folded = key * 0x9E3779B97F4A7C15u;
        folded ^= folded >> 32 ^ folded >> 48;
        EtwTableAdd(&numbers, &a->node, EtwHashNumber(key));
        memcpy(guid.bytes, &key, 8);
        memcpy(guid.bytes + 8, &folded, 8); /* the second half cancelled the hash of the first */
        EtwTableAdd(&guids, &b->node, EtwHashGuid(&guid));
    }
    CHECK_MSG(longestChain(&numbers) < LONGEST, "%d", (int)longestChain(&numbers));
    CHECK_MSG(longestChain(&guids) < LONGEST, "%d", (int)longestChain(&guids));
    EtwTableFree(&numbers, freeNode);
    EtwTableFree(&guids, freeNode);
}

/* SipHash-1-3 with the key 0, as other implementations compute it. */
static void hash_1_4_stable(void)
{
    const uint8_t bytes[20] = {1, 2, 3};
    CHECK_EQ(EtwHashStable(bytes, 0), EtwHashStable(bytes, 0));
    CHECK(EtwHashStable(bytes, 8) != EtwHashStable(bytes, 9));
    CHECK_EQ(EtwHashStable((const uint8_t *)"etw", 3), 0xf325b919008892c4u);
}

static void hash_1_2_bytes(void)
{
    const uint8_t bytes[20] = {1, 2, 3};
    CHECK(EtwHashBytes(0, bytes, 8) != EtwHashBytes(0, bytes, 9));
    CHECK(EtwHashBytes(0, bytes, 3) != EtwHashBytes(0, bytes + 1, 3));
    CHECK(EtwHashBytes(0, bytes, 20) == EtwHashBytes(0, bytes, 20));
}

/* ---- Slot table ------------------------------------------------------------------------------ */

typedef struct Slot {
    uint32_t id;
    bool wanted;
} Slot;

typedef struct Slots {
    Slot *slots;
    uint32_t capacity, used;
} Slots;

static inline uint32_t slotHash(uint64_t key)
{
    return (uint32_t)key / 3; /* neighbours collide */
}
static inline bool slotWanted(const Slot *slot)
{
    return slot->wanted;
}
ETW_SLOT_TABLE(Slots, Slots, Slot, id, slotHash, slotWanted, 16)

static void slots_1_1_add_find_drop(void)
{
    Slots table = {0};
    CHECK(SlotsFind(&table, 7) == NULL);
    for (uint32_t id = 1; id <= 1000; id++) {
        Slot *slot = SlotsAdd(&table, id);
        CHECK(!slot->wanted);
        slot->wanted = id % 10 == 0;
        CHECK(SlotsAdd(&table, id) == slot);
        CHECK(SlotsFind(&table, id) == slot);
    }
    for (uint32_t id = 10; id <= 1000; id += 10) {
        const Slot *slot = SlotsFind(&table, id);
        CHECK(slot != NULL && slot->id == id && slot->wanted);
    }
    CHECK(SlotsFind(&table, 0) == NULL);
    CHECK(SlotsFind(&table, 1) == NULL); /* dropped */
    CHECK(table.capacity <= 1024);
    EtwFree(table.slots);
}

/* ---- Arena ----------------------------------------------------------------------------------- */

static void arena_1_1_alignment(void)
{
    EtwArena arena = {0};
    size_t all = 0;
    for (size_t i = 0; i < 3000; i++) {
        size_t size = i * 7 % 300 + (i % 500 == 0 ? 100000 : 0), align = (size_t)1 << i % 5;
        uint8_t *p = EtwArenaAlloc(&arena, size, align);
        CHECK_EQ((uintptr_t)p % align, 0);
        for (size_t k = 0; k < size; k++) {
            CHECK(p[k] == 0);
        }
        memset(p, 0xEE, size);
        all += size;
    }
    CHECK(arena.bytes > all);
    CHECK(arena.bytes < all + all / 2);
    EtwArenaFree(&arena);
    CHECK_EQ(arena.bytes, 0);
}

/* A date with its time, as people write it; what is no date is refused. */
static void calendar_3_1_parse(void)
{
    const int64_t day = 86400 * 1000000000ll, at = 20000 * day; /* 2024-10-04 */
    static const char *const bad[] = {"", "2024", "2024-10-04", "2024-10-04T10", "2024-10-04T10:5",
            "2024-10-04T10:05:", "2024-10-04T10:05:0", "2024-10-04X10:05", "2024/10/04T10:05",
            "24-10-04T10:05", "2024-1-04T10:05", "2024-00-04T10:05", "2024-13-04T10:05",
            "2024-10-00T10:05", "2024-10-32T10:05", "2024-10-04T24:00", "2024-10-04T10:60",
            "2024-10-04T10:05:61", "1677-12-31T23:59", "2262-01-01T00:00", "2024-10-04T10:05:06.5x",
            "2024-10-04T10:05ZZ", "2024-10-04T10:05 ", " 2024-10-04T10:05", "2024-10-04T10:05.5",
            "2024-10-04T1a:05", "2024-10-04T10:05:06.0000000001",
            /* Days that their month does not have. */
            "2025-02-29T10:05", "2024-02-30T10:05", "2024-04-31T10:05", "2024-06-31T10:05",
            "2024-09-31T10:05", "2024-11-31T10:05", "2100-02-29T10:05"};
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {{"2024-10-04T00:00", 0}, {"2024-10-04 00:00", 0}, {"2024-10-04T00:00Z", 0},
            {"2024-10-04T00:01", 60}, {"2024-10-04T01:00", 3600}, {"2024-10-04T23:59:59", 86399},
            {"2024-10-04T23:59:60", 86400}, {"2024-10-05T00:00:00Z", 86400},
            {"2024-10-03T00:00:01", -86399}};
    int64_t ns = 0;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CHECK_MSG(EtwParseDateTime(good[i].text, &ns) && ns == at + good[i].ns * 1000000000,
                "%s: %lld", good[i].text, (long long)(ns - at));
    }
    CHECK(EtwParseDateTime("2024-10-04T00:00:00.123456789", &ns) && ns == at + 123456789);
    CHECK(EtwParseDateTime("2024-10-04T00:00:00.5Z", &ns) && ns == at + 500000000);
    CHECK(EtwParseDateTime("2024-10-04T00:00:00.", &ns) && ns == at);
    CHECK(EtwParseDateTime("1678-01-01T00:00", &ns) && ns < 0);
    CHECK(EtwParseDateTime("2261-12-31T23:59:59.999999999", &ns) && ns > 0);
    CHECK(EtwParseDateTime("2024-02-29T00:00", &ns) && EtwParseDateTime("2000-02-29T00:00", &ns));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_MSG(!EtwParseDateTime(bad[i], &ns), "%s", bad[i]);
    }
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(decimal_1_1_edges);
    CHECK_RUN(copy_1_1_sizes);
    CHECK_RUN(calendar_1_1_edges);
    CHECK_RUN(calendar_1_2_days);
    CHECK_RUN(calendar_1_3_carries_over);
    CHECK_RUN(calendar_2_1_filetimes);
    CHECK_RUN(calendar_3_1_parse);
    CHECK_RUN(heap_1_1_sorts);
    CHECK_RUN(heap_1_2_replaces);
    CHECK_RUN(hash_1_1_add_find_remove);
    CHECK_RUN(hash_1_2_bytes);
    CHECK_RUN(hash_1_3_hostile_keys);
    CHECK_RUN(hash_1_4_stable);
    CHECK_RUN(slots_1_1_add_find_drop);
    CHECK_RUN(arena_1_1_alignment);
    return CHECK_DONE();
}
