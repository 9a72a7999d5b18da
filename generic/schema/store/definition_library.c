/*
 * schema/store/definition_library.c --
 *
 *	The definitions that the user loaded: a list that only grows at its head, so that readers
 *	need no lock. manifest.c, mof.c and tmf.c parse definitions; catalog_file.c reads the
 *	catalogue.
 */
#include "schema/store/definition_library.h"
#include <stdatomic.h>

typedef struct Loaded {
    struct Loaded *next;
    EtwProviderDef *def;
    _Atomic bool forgotten; /* removed by EtwLibraryClear; readers may still be using it */
} Loaded;

/* A node is complete before it is published (release), and is never freed. */
static _Atomic(Loaded *) newest;
static _Atomic uint32_t generation;

void EtwLibraryAdd(EtwProviderDef *def)
{
    Loaded *node = EtwAlloc(sizeof *node);
    node->def = def;
    node->next = atomic_load_explicit(&newest, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(
            &newest, &node->next, node, memory_order_release, memory_order_relaxed)) {
    }
    atomic_fetch_add_explicit(&generation, 1, memory_order_release);
}

void EtwLibraryClear(void)
{
    for (Loaded *n = atomic_load_explicit(&newest, memory_order_acquire); n != NULL; n = n->next) {
        atomic_store_explicit(&n->forgotten, true, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&generation, 1, memory_order_release);
}

uint32_t EtwLibraryGeneration(void)
{
    return atomic_load_explicit(&generation, memory_order_acquire);
}

static bool isLoaded(const Loaded *n)
{
    return !atomic_load_explicit(&n->forgotten, memory_order_relaxed);
}

static bool describes(const EtwProviderDef *def, const EtwEvent *event)
{
    return event == NULL ||
           (def->classic == event->classic &&
                   EtwDefFind(def, event->classic ? event->desc.opcode : event->desc.id,
                           event->desc.version) != NULL);
}

const EtwProviderDef *EtwLibraryFind(const EtwGuid *guid, const EtwEvent *event)
{
    for (const Loaded *n = atomic_load_explicit(&newest, memory_order_acquire); n != NULL;
            n = n->next) {
        if (isLoaded(n) && EtwGuidEqual(&n->def->guid, guid) && describes(n->def, event)) {
            return n->def;
        }
    }
    return NULL;
}

void EtwLibraryVisit(void (*visit)(void *ctx, const EtwProviderDef *def), void *ctx)
{
    for (const Loaded *n = atomic_load_explicit(&newest, memory_order_acquire); n != NULL;
            n = n->next) {
        if (isLoaded(n)) {
            visit(ctx, n->def);
        }
    }
}
