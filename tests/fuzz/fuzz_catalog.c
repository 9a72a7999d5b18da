/*
 * tests/fuzz/fuzz_catalog.c --
 *
 *	libFuzzer target: the lines of a provider in the catalogue, and decoding along what they describe.
 *	With -DFUZZ_SEEDS a program that writes a seed.
 */
#include "schema/catalog/catalog_text.h"
#include "schema/model/decode.h"
#include <stdio.h>
#include <string.h>

static void see(void *ctx, const EtwField *field, const EtwValue *value)
{
    *(uint64_t *)ctx += value->size + field->in;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const EtwVisitor visitor = {.value = see};
    EtwGuid guid = {{1}};
    uint64_t seen = 0;
    EtwProviderDef *def = EtwCatalogParse(&guid, "Fuzz", (const char *)data, size);
    for (int i = 0; def != NULL && i < def->eventCount; i++) {
        EtwEvent event = {.payload = data, .payloadSize = (uint32_t)(size < 512 ? size : 512)};
        EtwDecode(&def->events[i]->schema, &event, &visitor, &seen);
    }
    EtwDefFree(def);
    return 0;
}

#ifdef FUZZ_SEEDS
static const char seed[] =
        "M\tKinds\tv\t1=One\t2=Two\nK\tff00000000000000\tTop\nO\t1\tStart\nT\t7\tTask\n"
        "W\t8000000000000001\nS\tWin10-10240\n"
        "F\tCount:H Kind:I{0 Name:u(=0 Blob:y(16 Rest:y(*\n"
        "F\tN:I Items:r2[=0 A:B/4 B:u\nE\t5\t0\t4\t0\t0\t0\t0\t0\t=\n"
        "E\t3\t0\t0\t0\t0\t0\t0\t1\tOwnName\n";

int main(int argc, char **argv)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/own", argc == 2 ? argv[1] : ".");
    FILE *f = fopen(path, "wb");
    bool good = f != NULL && fwrite(seed, 1, sizeof seed - 1, f) == sizeof seed - 1;
    return f != NULL && fclose(f) == 0 && good ? 0 : 1;
}
#endif
