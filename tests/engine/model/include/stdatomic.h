/*
 * tests/engine/model/include/stdatomic.h --
 *
 *	C11's atomic operations for the model checker: each operation is a call of ring_model.cc, which
 *	performs it in Relacy's memory model and may switch to another thread first. It is included in
 *	place of the compiler's <stdatomic.h> when ring.c is compiled for the model.
 */
#ifndef ETW_MODEL_STDATOMIC_H
#define ETW_MODEL_STDATOMIC_H

#include <stdbool.h>
#include <stdint.h>

typedef enum memory_order {
    memory_order_relaxed,
    memory_order_consume,
    memory_order_acquire,
    memory_order_release,
    memory_order_acq_rel,
    memory_order_seq_cst
} memory_order;

typedef struct ModelSite {
    const char *function, *file;
    int line;
} ModelSite;
uint64_t ModelLoad(const void *at, unsigned size, memory_order order, ModelSite site);
void ModelStore(void *at, unsigned size, uint64_t value, memory_order order, ModelSite site);
bool ModelCompareExchange(void *at, unsigned size, void *expected, uint64_t value, bool weak,
        memory_order success, memory_order failure, ModelSite site);
enum { MODEL_ADD, MODEL_OR, MODEL_SWAP };
uint64_t ModelExchange(
        int operation, void *at, unsigned size, uint64_t value, memory_order order, ModelSite site);
void ModelFence(memory_order order, ModelSite site);

#define _Atomic /* a plain type: all accesses go through the operations below */
#define MODEL_SITE ((ModelSite){__func__, __FILE__, __LINE__})
#define MODEL_T(at, value) ((__typeof__(*(at) + 0))(value))

#define atomic_load_explicit(at, order)                                                            \
    MODEL_T(at, ModelLoad((at), sizeof *(at), (order), MODEL_SITE))
#define atomic_store_explicit(at, value, order)                                                    \
    ModelStore((at), sizeof *(at), (uint64_t)(value), (order), MODEL_SITE)
#define atomic_compare_exchange_weak_explicit(at, expected, value, success, failure)               \
    ModelCompareExchange((at), sizeof *(at), (expected), (uint64_t)(value), true, (success),       \
            (failure), MODEL_SITE)
#define atomic_compare_exchange_strong_explicit(at, expected, value, success, failure)             \
    ModelCompareExchange((at), sizeof *(at), (expected), (uint64_t)(value), false, (success),      \
            (failure), MODEL_SITE)
#define MODEL_EXCHANGE(operation, at, value, order)                                                \
    MODEL_T(at, ModelExchange(                                                                     \
                        (operation), (at), sizeof *(at), (uint64_t)(value), (order), MODEL_SITE))
#define atomic_fetch_add_explicit(at, value, order) MODEL_EXCHANGE(MODEL_ADD, at, value, order)
#define atomic_fetch_or_explicit(at, value, order) MODEL_EXCHANGE(MODEL_OR, at, value, order)
#define atomic_exchange_explicit(at, value, order) MODEL_EXCHANGE(MODEL_SWAP, at, value, order)
#define atomic_thread_fence(order) ModelFence((order), MODEL_SITE)

#define atomic_load(at) atomic_load_explicit(at, memory_order_seq_cst)
#define atomic_store(at, value) atomic_store_explicit(at, value, memory_order_seq_cst)
#define atomic_fetch_add(at, value) atomic_fetch_add_explicit(at, value, memory_order_seq_cst)
#define atomic_compare_exchange_strong(at, expected, value)                                        \
    atomic_compare_exchange_strong_explicit(                                                       \
            at, expected, value, memory_order_seq_cst, memory_order_seq_cst)

#endif
