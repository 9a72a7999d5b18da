/*
 * tests/fuzz/fuzz_names.c --
 *
 *	Names of calls, files and commands, as etw diff makes them equal (flow/compare/compare_names.c). The name has no NUL behind it,
 *	so that reading beyond its end is found.
 */
#include "flow/compare/compare.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    EtwText out = {0};
    if (size == 0) {
        return 0;
    }
    char *name = malloc(size);
    memcpy(name, data, size);
    EtwCompareNormalize(&out, name, size);
    if (out.size > 5 * 4096) { /* each replacement is of at least 1 byte by at most 3 */
        abort();
    }
    free(name);
    EtwTextFree(&out);
    return 0;
}
