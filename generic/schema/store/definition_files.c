/*
 * schema/store/definition_files.c --
 *
 *	Selects the reader for a file that describes events, and adds all or none of its definitions
 *	to the library.
 */
#include "schema/store/definition_files.h"
#include "base/os.h"
#include "schema/store/definition_library.h"
#include "schema/manifest/manifest.h"
#include "schema/model/text_defs.h"
#include <strings.h>

enum { MAX_FILE = 64 << 20 };

/*
 * A format: the suffix of its files, and a test for texts without a known suffix (NULL: not
 * possible).
 */
typedef struct Format {
    const char *suffix;
    bool (*looks)(const uint8_t *data, size_t size);
    EtwSchemaReadProc *read;
} Format;

/* True if "<" is the first character, in any encoding of XML. */
static bool looksXml(const uint8_t *data, size_t size)
{
    size_t i = 0;
    while (i < size && (data[i] == 0 || data[i] >= 0x80 || strchr(" \t\r\n", data[i]) != NULL)) {
        i++;
    }
    return i < size && data[i] == '<';
}

static const Format formats[] = {
        {".man", looksXml, EtwManifestReadFile},
        {".xml", looksXml, EtwManifestReadFile},
        {".tmf", NULL, EtwTmfRead},
        {".mof", NULL, EtwMofRead},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static const Format *formatOf(const char *path, const uint8_t *data, size_t size)
{
    size_t length = strlen(path);
    for (int i = 0; i < FORMATS; i++) {
        size_t suffix = strlen(formats[i].suffix);
        if (length > suffix && strcasecmp(path + length - suffix, formats[i].suffix) == 0) {
            return &formats[i];
        }
    }
    for (int i = 0; i < FORMATS; i++) {
        if (formats[i].looks != NULL && formats[i].looks(data, size)) {
            return &formats[i];
        }
    }
    return NULL;
}

typedef struct Counts {
    int providers, events;
} Counts;

static void addToLibrary(void *ctx, EtwProviderDef *def)
{
    Counts *counts = ctx;
    counts->providers++;
    counts->events += def->eventCount;
    EtwLibraryAdd(def);
}

EtwStatus EtwSchemaRead(const char *path, EtwDefProc *add, void *ctx, EtwError *errPtr)
{
    OsMap map;
    EtwStatus status = OsMapFile(&map, path, errPtr);
    if (status != ETW_OK) {
        return status;
    }
    const Format *format = map.size != 0 ? formatOf(path, map.base, map.size) : NULL;
    if (format == NULL) {
        status = EtwFail(errPtr, ETW_E_FORMAT, "SCHEMA", path,
                "\"%s\" does not describe events: expected a manifest (.man), .tmf or .mof file "
                "(the "
                "descriptions in a trace are used by the commands that read it)",
                path);
    } else if (map.size > MAX_FILE) {
        status = EtwFail(errPtr, ETW_E_LIMIT, "SCHEMA", path,
                "\"%s\" has more than %d MB, which is the maximum for a description of events",
                path, MAX_FILE >> 20);
    } else {
        status = format->read(path, map.base, map.size, add, ctx, errPtr);
    }
    OsUnmap(&map);
    return status;
}

EtwStatus EtwSchemaLoad(const char *path, int *providersPtr, int *eventsPtr, EtwError *errPtr)
{
    Counts counts = {0};
    EtwStatus status = EtwSchemaRead(path, addToLibrary, &counts, errPtr);
    if (providersPtr != NULL) {
        *providersPtr = counts.providers;
    }
    if (eventsPtr != NULL) {
        *eventsPtr = counts.events;
    }
    return status;
}
