/*
 * tests/etl/test_repair.c --
 *
 *	etl/write/file_builder.c and flow/relog/relog.c on damaged files: real ones, cut anywhere, with pieces overwritten,
 *	never closed or in another order. What comes out reads without a warning, and has the events that
 *	could be read before.
 */
#include "tests/support/corpus.h"
#include "etl/format.h"
#include "tests/support/etlfile.h"
#include "tests/support/relog_helper.h"
#include "base/hash_table.h"

enum { LARGEST = 400000, ROUNDS = 12 };

static uint64_t seed = 11;
static size_t Random(size_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(seed >> 33) % below;
}

/* ---- Damage ---------------------------------------------------------------------------------- */

/* Anywhere behind the header, at worst right there. */
static void Cut(uint8_t *data, size_t *size)
{
    size_t header = EtwLoad32(data);
    if (header < *size) {
        *size = header + Random(*size - header);
    }
}

static void Overwrite(uint8_t *data, size_t *size, int byte)
{
    size_t header = EtwLoad32(data), length = 1 + Random(6000);
    if (header + length < *size) {
        memset(data + header + Random(*size - header - length), byte, length);
    }
}

static void Noise(uint8_t *data, size_t *size)
{
    size_t header = EtwLoad32(data);
    for (size_t i = 0; header < *size && i < 1 + *size / 5000; i++) {
        data[header + Random(*size - header)] = (uint8_t)Random(256);
    }
}

/* As a session that was killed leaves it: no end, one buffer written. */
static void Unclose(uint8_t *data)
{
    EtwStore64(data + 0x48 + 0x20 + 0x10, 0);
    EtwStore32(data + 0x48 + 0x20 + 0x24, 1);
}

/* A ring that went round: the later half of the buffers stands first. */
static void Rotate(uint8_t *data, size_t size)
{
    size_t unit = EtwLoad32(data), count = size / unit, half = (count - 1) / 2;
    if (size % unit != 0 || count < 3) {
        return;
    }
    uint8_t *copy = EtwAlloc(size);
    memcpy(copy, data, size);
    memcpy(data + unit, copy + (1 + half) * unit, (count - 1 - half) * unit);
    memcpy(data + (count - half) * unit, copy + unit, half * unit);
    EtwFree(copy);
}

static void Damage(int kind, uint8_t *data, size_t *size)
{
    switch (kind % 6) {
    case 0:
        Cut(data, size);
        break;
    case 1:
        Overwrite(data, size, 0);
        break;
    case 2:
        Overwrite(data, size, 0xFF);
        break;
    case 3:
        Noise(data, size);
        break;
    case 4:
        Unclose(data);
        Cut(data, size);
        break;
    default:
        Rotate(data, *size);
        break;
    }
}

/* ---- Repair ---------------------------------------------------------------------------------- */

static void Count(void *ctx, uint64_t where, const char *message)
{
    (void)where;
    (void)message;
    ++*(int *)ctx;
}

/* Events, and what they are without their order: damaged times may go back, and then nobody says what
 * comes first across buffers. */
typedef struct Sum {
    size_t count;
    uint64_t hash;
    bool rising;
    int64_t last;
} Sum;

static void AddTo(Sum *sum, const EtwEvent *e)
{
    uint64_t hash = EtwHashMix(EtwHashMix((uint64_t)e->ticks, (uint64_t)e->time), e->cpu);
    sum->hash += EtwHashBytes(EtwHashMix(hash, e->logger), e->record, e->recordSize);
    sum->rising = sum->count++ == 0 || (sum->rising && e->time >= sum->last);
    sum->last = e->time;
}

static void CheckSame(EtlReader *before, EtlReader *after, const char *what)
{
    EtwEvent a, b;
    EtwStatus statusA, statusB;
    Sum sumA = {0}, sumB = {0};
    size_t firstApart = SIZE_MAX;
    do {
        statusA = NextEvent(before, &a);
        statusB = NextEvent(after, &b);
        if (!CHECK_MSG(statusA == statusB, "%s: not as many events behind %zu", what, sumA.count)) {
            return;
        }
        if (statusA == ETW_OK) {
            firstApart = firstApart == SIZE_MAX && !SameEvent(&a, &b) ? sumA.count : firstApart;
            AddTo(&sumA, &a);
            AddTo(&sumB, &b);
        }
    } while (statusA == ETW_OK);
    CHECK_MSG(sumA.hash == sumB.hash, "%s: other events, from %zu on", what, firstApart);
    CHECK_MSG(firstApart == SIZE_MAX || !sumA.rising, "%s: another order from %zu on", what,
            firstApart);
}

static void CheckRepaired(const uint8_t *data, size_t size, const char *what)
{
    EtwSource *source;
    EtlReader *before, *after;
    EtwError error = {0};
    int warnings = 0;
    const char *path = TestPath("repair.etl");
    FILE *file = fopen(path, "wb");
    if (!CHECK(file != NULL)) {
        return;
    }
    CHECK_EQ(fwrite(data, 1, size, file), size);
    fclose(file);
    if (!CHECK_MSG(EtwSourceOpen(&source, path, &error) == ETW_OK, "%s: %s", what, error.message)) {
        return;
    }
    EtwText out = Relogged(source, Random(2));
    EtwSourceClose(source);
    OsFileRemove(path);
    CHECK_EQ(EtlReaderOpenMemory(&before, data, size, 0, NULL, NULL, NULL), ETW_OK);
    EtwStatus status = EtlReaderOpenMemory(&after, out.data, out.size, 0, Count, &warnings, &error);
    if (CHECK_MSG(status == ETW_OK, "%s: %s", what, error.message)) {
        CheckSame(before, after, what);
        CHECK_MSG(warnings == 0, "%s: %d warnings", what, warnings);
        CHECK_MSG(EtlReaderInfo(after)->closed, "%s: not closed", what);
        EtlReaderClose(after);
    }
    EtlReaderClose(before);
    EtwTextFree(&out);
}

static void RepairFile(const char *path)
{
    OsMap map;
    char what[500];
    if (OsMapFile(&map, path, NULL) != ETW_OK || map.size > LARGEST) {
        return;
    }
    for (int i = 0; i < ROUNDS; i++) {
        size_t size = map.size;
        uint8_t *data = EtwAlloc(size);
        memcpy(data, map.base, size);
        Damage(i, data, &size);
        snprintf(what, sizeof what, "%s, damage %d", path, i);
        CheckRepaired(data, size, what);
        EtwFree(data);
    }
    OsUnmap(&map);
}

static void repair_corpus(void)
{
    char line[2000], file[400];
    FILE *index = fopen(CorpusFile("INDEX.md"), "r");
    if (index == NULL) {
        SKIP("no %s (set ETW_CORPUS)", CorpusFile("INDEX.md"));
    }
    while (fgets(line, sizeof line, index) != NULL) {
        if (sscanf(line, "- `%399[^`]` (%*d bytes", file) == 1) {
            RepairFile(CorpusFile(file));
        }
    }
    fclose(index);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    OsInit();
    CHECK_RUN(repair_corpus);
    return CHECK_DONE();
}
