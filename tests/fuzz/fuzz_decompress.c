/*
 * tests/fuzz/fuzz_decompress.c --
 *
 *	Any bytes as a compressed buffer: the first byte chooses the format, the next two the
 *	room, the rest is the stream. A decoder must write into the room only, end, give the same
 *	again, and a smaller room must get the head of the same.
 *
 *	With clang -fsanitize=fuzzer it is a fuzzer; -DFUZZ_MAIN makes a program that replays the
 *	files named on its command line, -DFUZZ_SEEDS one that writes seeds into the
 *	directory named there. Linked with the sources of base/ and etl/.
 */
#include "base/text.h"
#include "base/os.h"
#include "etl/compress/decompress.h"
#include <stdio.h>
#include <stdlib.h>

static void Must(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "fuzz_decompress: %s\n", what);
        abort();
    }
}

/* Into a block of its own, so that a byte too far is seen. */
static size_t Decode(
        unsigned format, const uint8_t *in, size_t size, size_t capacity, uint8_t **outPtr)
{
    *outPtr = EtwAlloc(capacity + (capacity == 0));
    size_t got = EtlDecoder(format)(in, size, *outPtr, capacity);
    Must(got <= capacity, "more than there is room for");
    return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned formats[] = {ETL_FORMAT_LZNT1, ETL_FORMAT_XPRESS, ETL_FORMAT_HUFFMAN};
    uint8_t *whole, *head;
    if (size < 3) {
        return 0;
    }
    unsigned format = formats[data[0] % 3];
    size_t capacity = EtwLoad16(data + 1);
    size_t got = Decode(format, data + 3, size - 3, capacity, &whole);
    for (size_t part = 0; part < capacity; part = 2 * part + 7) {
        size_t some = Decode(format, data + 3, size - 3, part, &head);
        Must(some == (part < got ? part : got), "another length in a smaller room");
        Must(memcmp(head, whole, some) == 0, "other bytes in a smaller room");
        EtwFree(head);
    }
    EtwFree(whole);
    return 0;
}

#ifdef FUZZ_MAIN
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        OsMap map;
        EtwError error;
        if (OsMapFile(&map, argv[i], &error) != ETW_OK) {
            fprintf(stderr, "%s\n", error.message);
            return 1;
        }
        LLVMFuzzerTestOneInput(map.base, map.size);
        OsUnmap(&map);
    }
    printf("%d files replayed\n", argc - 1);
    return 0;
}
#endif

#ifdef FUZZ_SEEDS
#include "tests/support/etlfile.h"

int main(int argc, char **argv)
{
    static const char text[] = "literals, and abcabcabcabcabcabcabcabc";
    Must(argc == 2, "usage: seeds DIRECTORY");
    for (unsigned format = 2; format <= 4; format++) {
        EtwText seed = {0};
        char path[1000];
        EtwTextChar(&seed, (char)(format - 2));
        EtwTextAdd(&seed, "\x60\0", 2);
        ImagePack(&seed, format, (const uint8_t *)text, sizeof text);
        EtwTextAdd(&seed, "\x17\0\x0f\xff\x26\x01", 6);
        snprintf(path, sizeof path, "%s/packed%u", argv[1], format);
        FILE *file = fopen(path, "wb");
        Must(file != NULL && fwrite(seed.data, 1, seed.size, file) == seed.size, "no seed written");
        fclose(file);
        EtwTextFree(&seed);
    }
    return 0;
}
#endif
