/*
 * schema/model/canonical_name.c --
 *
 *	The canonical form of names in descriptions of events.
 */
#include "schema/model/canonical_name.h"
#include "base/bytes.h"
#include <strings.h>

static bool isBlank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* A name can begin at the start of the text, behind '/', and behind the wildcards of a pattern. */
static bool begins(const EtwText *out, size_t from)
{
    return out->size == from || strchr("/*?]", out->data[out->size - 1]) != NULL;
}

/* The length of "win:" and the name's own length, if Windows' standard names spell it otherwise. */
static size_t standardSize(const char *at, size_t size, const char **asPtr)
{
    static const struct {
        const char *name, *as;
    } standards[] = {{"win:DC_", "DC"}, {"win:Informational", "Information"}, {"win:", ""}};
    for (size_t i = 0; i < sizeof standards / sizeof *standards; i++) {
        size_t length = strlen(standards[i].name);
        if (size >= length && strncasecmp(at, standards[i].name, length) == 0) {
            *asPtr = standards[i].as;
            return length;
        }
    }
    return 0;
}

void EtwAddCanonicalName(EtwText *out, const char *name, size_t size)
{
    size_t from = out->size;
    for (size_t i = 0; i < size; i++) {
        const char *as = "";
        size_t taken = begins(out, from) ? standardSize(name + i, size - i, &as) : 0;
        if (taken != 0) {
            EtwTextStr(out, as);
            i += taken - 1;
        } else if (!isBlank(name[i])) {
            EtwTextChar(out, name[i]);
        }
    }
    if (out->size == from) {
        EtwTextAdd(out, name, size);
    }
}

bool EtwNameIsCanonical(const char *name, size_t size)
{
    EtwText text = {0};
    EtwAddCanonicalName(&text, name, size);
    bool same = text.size == size && (size == 0 || memcmp(text.data, name, size) == 0);
    EtwTextFree(&text);
    return same;
}
