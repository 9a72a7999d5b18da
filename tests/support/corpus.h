/*
 * tests/support/corpus.h --
 *
 *	The location of the real files: ETW_CORPUS, or ../shared/corpus next to the checkout. Tests
 *	that need them are skipped without them.
 */
#ifndef ETW_TESTS_CORPUS_H
#define ETW_TESTS_CORPUS_H

#include "base/os.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((unused)) static const char *Corpus(void)
{
    static char path[1024];
    const char *env = getenv("ETW_CORPUS");
    if (env != NULL) {
        return env;
    }
    snprintf(path, sizeof path, "%s", __FILE__);
    char *cut = strstr(path, "tests/support/");
    if (cut != NULL) {
        snprintf(cut, sizeof path - (size_t)(cut - path), "../shared/corpus");
    }
    return cut != NULL && OsFileExists(path) ? path : "../shared/corpus";
}

__attribute__((unused)) static const char *CorpusFile(const char *name)
{
    static char paths[2][1400];
    static int turn;
    turn = !turn;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", Corpus(), name);
    return paths[turn];
}

#endif
