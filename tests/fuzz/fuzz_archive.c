/*
 * tests/fuzz/fuzz_archive.c --
 *
 *	Zip archives: their directory, and each trace in them unpacked. What is looked for besides the
 *	sanitizers' reports: more bytes than an archive's size justifies. With -DFUZZ_SEEDS a program
 *	that writes seeds.
 */
#include "base/text.h"
#include "flow/source/zip_archive.h"
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    EtwArchive *archive;
    EtwError err;
    uint64_t total = 0;
    const char *kind = "";
    EtwPackingOf(data, size, &kind);
    if (EtwArchiveOpen(&archive, data, size, "fuzz.zip", &err) != ETW_OK) {
        return 0;
    }
    for (int i = 0; i < EtwArchiveCount(archive) && i < 8; i++) {
        OsMap map = {0};
        EtwArchiveFind(archive, EtwArchiveName(archive, i));
        if (EtwArchiveUnpack(archive, i, &map, &err) == ETW_OK) {
            total += map.size;
            OsUnmap(&map);
        }
    }
    if (total > (64 << 20) + 300 * (uint64_t)size) {
        abort();
    }
    EtwArchiveClose(archive);
    return 0;
}

#ifdef FUZZ_SEEDS
static const char trace[] = "what is in the trace, what is in the trace, what is in the trace";

/* One member, deflated or stored; zip64: its numbers are in the extra field. */
static void makeZip(EtwText *out, bool deflated, bool zip64)
{
    uint8_t packed[200], local[30] = "PK\3\4", entry[46] = "PK\1\2", end[22] = "PK\5\6";
    uint8_t extra[28] = {1, 0, 24, 0};
    z_stream z = {.next_in = (Bytef *)trace, .avail_in = sizeof trace};
    memcpy(packed, trace, sizeof trace);
    size_t size = sizeof trace, extraSize = zip64 ? sizeof extra : 0;
    if (deflated) {
        z.next_out = packed;
        z.avail_out = sizeof packed;
        deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
        deflate(&z, Z_FINISH);
        size = z.total_out;
        deflateEnd(&z);
    }
    local[26] = entry[28] = 5;
    entry[10] = local[8] = deflated ? 8 : 0;
    entry[30] = (uint8_t)extraSize;
    EtwStore32(entry + 16, (uint32_t)crc32(0, (const Bytef *)trace, sizeof trace));
    EtwStore32(entry + 20, zip64 ? UINT32_MAX : (uint32_t)size);
    EtwStore32(entry + 24, zip64 ? UINT32_MAX : (uint32_t)sizeof trace);
    EtwStore32(entry + 42, zip64 ? UINT32_MAX : 0);
    EtwStore64(extra + 4, sizeof trace);
    EtwStore64(extra + 12, size);
    EtwTextAdd(out, local, sizeof local);
    EtwTextAdd(out, "a.etl", 5);
    EtwTextAdd(out, packed, size);
    end[8] = end[10] = 1;
    EtwStore32(end + 12, (uint32_t)(sizeof entry + 5 + extraSize));
    EtwStore32(end + 16, (uint32_t)out->size);
    EtwTextAdd(out, entry, sizeof entry);
    EtwTextAdd(out, "a.etl", 5);
    EtwTextAdd(out, extra, extraSize);
    EtwTextAdd(out, end, sizeof end);
}

int main(int argc, char **argv)
{
    for (int i = 0; argc == 2 && i < 4; i++) {
        char path[1000];
        EtwText zip = {0};
        OsMap map = {0};
        EtwArchive *archive;
        makeZip(&zip, i & 1, i >> 1);
        if (EtwArchiveOpen(&archive, (uint8_t *)zip.data, zip.size, "seed", NULL) != ETW_OK ||
                EtwArchiveUnpack(archive, 0, &map, NULL) != ETW_OK || map.size != sizeof trace) {
            fprintf(stderr, "seed %d is not right\n", i);
            return 1;
        }
        OsUnmap(&map);
        EtwArchiveClose(archive);
        snprintf(path, sizeof path, "%s/zip%d", argv[1], i);
        FILE *file = fopen(path, "wb");
        if (file == NULL || fwrite(zip.data, 1, zip.size, file) != zip.size || fclose(file) != 0) {
            return 1;
        }
        EtwTextFree(&zip);
    }
    return argc == 2 ? 0 : 1;
}
#endif
