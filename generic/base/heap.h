/*
 * base/heap.h --
 *
 *	A binary heap in an array that its owner allocates, counts and frees; item 0 is the first.
 *	ETW_HEAP(Name, Item, isBefore) defines the functions for one type of item, so that the
 *	comparison `bool isBefore(Item a, Item b)` or a macro of that form is inlined.
 *
 *	    NamePush(heap, count, item)     Add an item. The array must have space for count + 1 items;
 *	                                    count is the number before.
 *	    NameReplace(heap, count, item)  Replace the first item; also restores the order after the
 *	                                    first item was changed. The count is at least 1.
 *	    NamePop(heap, count)            Remove the first item. The count is the number afterwards.
 */
#ifndef ETW_BASE_HEAP_H
#define ETW_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#define ETW_HEAP(Name, Item, isBefore)                                                             \
    static inline void Name##Push(Item *heap, size_t count, Item item)                             \
    {                                                                                              \
        size_t at = count;                                                                         \
        while (at > 0 && isBefore(item, heap[(at - 1) / 2])) {                                     \
            heap[at] = heap[(at - 1) / 2];                                                         \
            at = (at - 1) / 2;                                                                     \
        }                                                                                          \
        heap[at] = item;                                                                           \
    }                                                                                              \
    static inline void Name##Replace(Item *heap, size_t count, Item item)                          \
    {                                                                                              \
        size_t at = 0, child;                                                                      \
        while ((child = 2 * at + 1) < count) {                                                     \
            child += child + 1 < count && isBefore(heap[child + 1], heap[child]);                  \
            if (!isBefore(heap[child], item)) {                                                    \
                break;                                                                             \
            }                                                                                      \
            heap[at] = heap[child];                                                                \
            at = child;                                                                            \
        }                                                                                          \
        heap[at] = item;                                                                           \
    }                                                                                              \
    static inline void Name##Pop(Item *heap, size_t count)                                         \
    {                                                                                              \
        if (count != 0) {                                                                          \
            Name##Replace(heap, count, heap[count]);                                               \
        }                                                                                          \
    }

#endif
