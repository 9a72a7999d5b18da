/*
 * symbol/symbols.c --
 *
 *	Names of addresses (symbol/symbols.h): which file has them, and a table of what was resolved.
 */
#include "base/arena.h"
#include "symbol/build_id.h"
#include "base/hash_table.h"
#include "symbol/image_file.h"
#include "symbol/symbols_int.h"
#include <stdio.h>
#include <stdlib.h>

enum { PLACES_MAX = 1000000, FILES_MAX = 2000 };
#define ARENA_MAX_BYTES (256u << 20)

/* A file with names: of an image, or the map of a process without image. */
typedef struct File {
    EtwTableNode node;
    struct File *next; /* in the order of their use */
    uint32_t pid;      /* of a map */
    const char *path, *build;
    ElfSymbols *elf;
    SymbolList *list;
    const SymbolList *kernel;
    uint64_t base;   /* added to the offset for a search in the list */
    const char *why; /* neither elf nor list */
} File;

typedef struct Place {
    EtwTableNode node;
    EtwSymbolPlace of;
    const EtwSymbol *list;
    int count;
} Place;

struct EtwSymbols {
    char **folders;
    int folderCount;
    EtwTable files, places;
    File *first, **end;
    SymbolList *kernel;
    bool kernelSought;
    EtwArena arena;
};

/* ---- Begin and end --------------------------------------------------------------------------- */

EtwSymbols *EtwSymbolsNew(const char *const *folders, int count)
{
    EtwSymbols *s = EtwAlloc(sizeof *s);
    s->end = &s->first;
    s->folders = EtwAlloc(((size_t)count + 1) * sizeof *s->folders);
    for (int i = 0; i < count; i++) {
        s->folders[s->folderCount++] = EtwStrdup(folders[i]);
    }
    return s;
}

static void freeFile(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    ElfSymbolsFree(((File *)node)->elf);
    SymbolListFree(((File *)node)->list);
    EtwFree(node);
}

static void freePlace(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

void EtwSymbolsFree(EtwSymbols *s)
{
    if (s == NULL) {
        return;
    }
    EtwTableFree(&s->files, freeFile);
    EtwTableFree(&s->places, freePlace);
    SymbolListFree(s->kernel);
    for (int i = 0; i < s->folderCount; i++) {
        EtwFree(s->folders[i]);
    }
    EtwFree(s->folders);
    EtwArenaFree(&s->arena);
    EtwFree(s);
}

/* NULL stays NULL. */
static const char *keepText(EtwSymbols *s, const char *text)
{
    if (text == NULL) {
        return NULL;
    }
    size_t size = strlen(text) + 1;
    return memcpy(EtwArenaAlloc(&s->arena, size, 1), text, size);
}

static bool sameText(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* ---- ELF files ------------------------------------------------------------------------------- */

static bool openCandidate(void *ctx, const char *path)
{
    File *file = ctx;
    file->elf = ElfSymbolsOpen(path);
    return file->elf != NULL;
}

static void openElf(EtwSymbols *s, File *file)
{
    EtwImageWanted wanted = {.path = file->path,
            .build = file->build,
            .folders = (const char *const *)s->folders,
            .folderCount = s->folderCount};
    file->why = EtwSymbolsLackElf();
    if (file->why == NULL) {
        file->why = EtwImageFileFind(&wanted, openCandidate, file);
    }
}

/* ---- The kernel ------------------------------------------------------------------------------ */

/* kallsyms are those of the running kernel. */
static bool isRunning(const char *notes, const char *build)
{
    uint8_t id[ETW_BUILD_ID_MAX];
    char text[ETW_BUILD_ID_TEXT];
    EtwBuildIdText(id, EtwBuildIdOfNotesFile(notes, id), text);
    return build != NULL && strcmp(text, build) == 0;
}

static uint64_t moduleBase(const char *module, size_t size)
{
    char line[1024], name[100];
    unsigned long long address = 0;
    FILE *f = fopen("/proc/modules", "r");
    bool found = false;
    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL) {
        found = sscanf(line, "%99s %*s %*s %*s %*s %llx", name, &address) == 2 &&
                strlen(name) == size && memcmp(name, module, size) == 0;
    }
    if (f != NULL) {
        fclose(f);
    }
    return found ? address : 0;
}

/* "[kernel]", "[ext4]". Places are relative to the kernel's code or to the module, wherever it is loaded. */
static void openKernel(EtwSymbols *s, File *file)
{
    char notes[256];
    size_t size = strlen(file->path) - 2;
    bool isModule = strcmp(file->path, "[kernel]") != 0;
    snprintf(notes, sizeof notes,
            isModule ? "/sys/module/%.*s/notes/.note.gnu.build-id" : "/sys/kernel/notes", (int)size,
            file->path + 1);
    if (!isRunning(notes, file->build)) {
        file->why = "the trace is of another kernel than the one that runs";
        return;
    }
    if (!s->kernelSought) {
        s->kernelSought = true;
        s->kernel = SymbolListOfKernel();
    }
    if (s->kernel == NULL) {
        file->why =
                "/proc/kallsyms has no addresses without root, or sysctl kernel.kptr_restrict=0";
        return;
    }
    file->base =
            isModule ? moduleBase(file->path + 1, size) : SymbolListAddress(s->kernel, "_stext");
    file->kernel = file->base != 0 ? s->kernel : NULL;
    file->why = file->base != 0 ? NULL : "the module is not loaded";
}

/* ---- The file of a place --------------------------------------------------------------------- */

static void openMap(File *file)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%u.map", file->pid);
    file->list = SymbolListOfMap(path);
}

static void openFile(EtwSymbols *s, File *file)
{
    if (file->path == NULL) {
        openMap(file);
    } else if (strcmp(file->path, "[vdso]") == 0) {
        file->why = "the code of the vdso is in no file";
    } else if (file->path[0] == '[') {
        openKernel(s, file);
    } else {
        openElf(s, file);
    }
}

static uint64_t hashOfPlace(const EtwSymbolPlace *p)
{
    const char *path = p->path != NULL ? p->path : "", *build = p->build != NULL ? p->build : "";
    uint64_t hash = EtwHashBytes(p->path == NULL ? p->pid : 0, (const uint8_t *)path, strlen(path));
    return EtwHashBytes(hash, (const uint8_t *)build, strlen(build));
}

/* NULL: the limit was reached. */
static File *fileOf(EtwSymbols *s, const EtwSymbolPlace *p, uint64_t hash)
{
    uint32_t pid = p->path == NULL ? p->pid : 0;
    for (EtwTableNode *n = EtwTableFirst(&s->files, hash); n != NULL; n = n->next) {
        File *f = (File *)n;
        if (f->pid == pid && sameText(f->path, p->path) && sameText(f->build, p->build)) {
            return f;
        }
    }
    if (s->files.count >= FILES_MAX) {
        return NULL;
    }
    File *f = EtwAlloc(sizeof *f);
    f->pid = pid;
    f->path = keepText(s, p->path);
    f->build = keepText(s, p->build);
    EtwTableAdd(&s->files, &f->node, hash);
    *s->end = f;
    s->end = &f->next;
    openFile(s, f);
    return f;
}

const char *EtwSymbolsMissing(const EtwSymbols *s, int index, const char **whyPtr)
{
    for (const File *f = s != NULL ? s->first : NULL; f != NULL; f = f->next) {
        if (f->why != NULL && index-- == 0) {
            *whyPtr = f->why;
            return f->path;
        }
    }
    return NULL;
}

/* ---- Places ---------------------------------------------------------------------------------- */

static Place *findPlace(const EtwSymbols *s, const EtwSymbolPlace *p, uint64_t hash)
{
    for (EtwTableNode *n = EtwTableFirst(&s->places, hash); n != NULL; n = n->next) {
        Place *place = (Place *)n;
        if (n->hash == hash && place->of.offset == p->offset && place->of.isReturn == p->isReturn &&
                sameText(place->of.path, p->path) && sameText(place->of.build, p->build) &&
                (p->path != NULL || place->of.pid == p->pid)) {
            return place;
        }
    }
    return NULL;
}

static Place *addPlace(
        EtwSymbols *s, const EtwSymbolPlace *p, uint64_t hash, const EtwSymbol *list, int count)
{
    if (s->places.count >= PLACES_MAX || s->arena.bytes > ARENA_MAX_BYTES) {
        return NULL;
    }
    Place *place = EtwAlloc(sizeof *place);
    EtwSymbol *own = EtwArenaAlloc(&s->arena, sizeof *own * ((size_t)count + 1), 8);
    for (int i = 0; i < count; i++) {
        own[i] = list[i];
        own[i].function = keepText(s, list[i].function);
        own[i].file = keepText(s, list[i].file);
    }
    place->of = *p;
    place->list = own;
    place->count = count;
    EtwTableAdd(&s->places, &place->node, hash);
    return place;
}

static int resolve(const File *f, const EtwSymbolPlace *p, EtwSymbol list[ETW_SYMBOLS_MAX])
{
    const SymbolList *texts = f->kernel != NULL ? f->kernel : f->list;
    if (f->elf != NULL) {
        return ElfSymbolsAt(f->elf, p->offset, p->isReturn, list);
    }
    uint64_t offset = 0;
    const char *name =
            texts != NULL ? SymbolListAt(texts, f->base + p->offset - p->isReturn, &offset) : NULL;
    list[0] = (EtwSymbol){.function = name, .offset = offset + p->isReturn};
    return name != NULL;
}

const EtwSymbol *EtwSymbolsOf(EtwSymbols *s, const EtwSymbolPlace *p, int *countPtr)
{
    EtwSymbol list[ETW_SYMBOLS_MAX];
    *countPtr = 0;
    if (s == NULL) {
        return NULL;
    }
    uint64_t image = hashOfPlace(p), hash = EtwHashMix(image, p->offset * 2 + p->isReturn);
    const Place *place = findPlace(s, p, hash);
    if (place == NULL) {
        const File *file = fileOf(s, p, image);
        if (file == NULL) {
            return NULL;
        }
        EtwSymbolPlace own = *p;
        own.path = file->path;
        own.build = file->build;
        place = addPlace(s, &own, hash, list, resolve(file, p, list));
    }
    *countPtr = place != NULL ? place->count : 0;
    return place != NULL ? place->list : NULL;
}

void EtwSymbolsAdd(EtwSymbols *s, const EtwSymbolPlace *p, const EtwSymbol *list, int count)
{
    uint64_t hash = EtwHashMix(hashOfPlace(p), p->offset * 2 + p->isReturn);
    if (findPlace(s, p, hash) == NULL) {
        EtwSymbolPlace own = *p;
        own.path = keepText(s, p->path);
        own.build = keepText(s, p->build);
        addPlace(s, &own, hash, list, count);
    }
}

typedef struct Each {
    EtwSymbolsVisit *visit;
    void *ctx;
} Each;

static void visitPlace(void *ctx, EtwTableNode *node)
{
    const Each *each = ctx;
    const Place *place = (Place *)node;
    if (place->count > 0) {
        each->visit(each->ctx, &place->of, place->list, place->count);
    }
}

void EtwSymbolsEach(const EtwSymbols *s, EtwSymbolsVisit *visit, void *ctx)
{
    EtwTableVisit(&s->places, visitPlace, &(Each){visit, ctx});
}
