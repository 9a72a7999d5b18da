/*
 * symbol/image_table.c --
 *
 *	The images of processes (symbol/image_table.h).
 */
#include "symbol/image_table.h"

enum { IMAGES_OF_PROCESS = 4096, IMAGES_MAX = 200000, PATHS_MAX_BYTES = 16 << 20 };

typedef struct Path {
    EtwTableNode node;
    size_t size;
    char text[];
} Path;

/* "//anon" is perf's name of memory without a file. */
bool EtwImageIsFile(const char *path)
{
    static const char *const memory[] = {"//", "/memfd:", "/dev/zero", "/SYSV", "/anon_hugepage"};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
        if (strncmp(path, memory[i], strlen(memory[i])) == 0) {
            return false;
        }
    }
    return path[0] == '/' || strcmp(path, "[vdso]") == 0;
}

EtwImageProcess *EtwImagesFind(const EtwImageTable *t, uint32_t pid)
{
    EtwTableNode *n = EtwTableFirst(&t->processes, EtwHashNumber(pid));
    while (n != NULL && ((EtwImageProcess *)n)->pid != pid) {
        n = n->next;
    }
    return (EtwImageProcess *)n;
}

static EtwImageProcess *processOf(EtwImageTable *t, uint32_t pid)
{
    EtwImageProcess *p = EtwImagesFind(t, pid);
    if (p == NULL) {
        p = EtwAlloc(sizeof *p);
        p->pid = pid;
        p->epoch = ++t->epochs;
        EtwTableAdd(&t->processes, &p->node, EtwHashNumber(pid));
    }
    return p;
}

/* NULL: the limit was reached. */
static const char *keepPath(EtwImageTable *t, const char *text, size_t size)
{
    uint64_t hash = EtwHashBytes(0, (const uint8_t *)text, size);
    for (EtwTableNode *n = EtwTableFirst(&t->paths, hash); n != NULL; n = n->next) {
        Path *path = (Path *)n;
        if (path->size == size && memcmp(path->text, text, size) == 0) {
            return path->text;
        }
    }
    if (t->pathBytes + size > PATHS_MAX_BYTES) {
        return NULL;
    }
    Path *path = EtwAlloc(sizeof *path + size + 1);
    path->size = size;
    memcpy(path->text, text, size);
    t->pathBytes += sizeof *path + size;
    EtwTableAdd(&t->paths, &path->node, hash);
    return path->text;
}

static bool overlaps(const EtwImage *a, const EtwImage *b)
{
    return a->base < b->base + b->size && b->base < a->base + a->size;
}

void EtwImagesAdd(EtwImageTable *t, uint32_t pid, const EtwImage *image, bool fresh)
{
    EtwImageProcess *p = processOf(t, pid);
    int kept = 0;
    for (int i = 0; i < p->count; i++) {
        if (!overlaps(&p->images[i].of, image)) {
            p->images[kept++] = p->images[i];
        }
    }
    p->epoch = kept != p->count ? ++t->epochs : p->epoch;
    t->count -= p->count - kept;
    p->count = kept;
    const char *path = keepPath(t, image->path, image->pathSize);
    if (path == NULL || p->count >= IMAGES_OF_PROCESS || t->count >= IMAGES_MAX) {
        return;
    }
    if (p->count == p->capacity) {
        p->capacity = p->capacity != 0 ? 2 * p->capacity : 16;
        p->images = EtwRealloc(p->images, (size_t)p->capacity * sizeof *p->images);
    }
    p->images[p->count] = (EtwImageEntry){*image, fresh};
    p->images[p->count++].of.path = path;
    t->count++;
}

void EtwImagesRemove(EtwImageTable *t, EtwImageProcess *p)
{
    t->count -= p->count;
    EtwTableRemove(&t->processes, &p->node);
    EtwFree(p->images);
    EtwFree(p);
}

static void freePath(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

static void freeProcess(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(((EtwImageProcess *)node)->images);
    EtwFree(node);
}

void EtwImagesFree(EtwImageTable *t)
{
    EtwTableFree(&t->processes, freeProcess);
    EtwTableFree(&t->paths, freePath);
    *t = (EtwImageTable){0};
}
