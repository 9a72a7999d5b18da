/*
 * base/slot_table.h --
 *
 *	A hash table whose items are in one array (open addressing), for small items that are looked
 *	up for each event. The items of hash_table.h do not move. Items are not removed
 *	individually: when the table is half full, the items that are still needed are moved to a
 *	new array.
 *
 *	The owner is a struct Table with the members `Item *slots; uint32_t capacity, used;`,
 *	zeroed: empty. An Item has an integer member `key`; 0 marks a free slot. The table has FIRST
 *	slots (a power of two) or more. ETW_SLOT_TABLE defines
 *
 *	    Item *NameFind(table, key)  NULL: not found. Key 0 is never found.
 *	    Item *NameAdd(table, key)   Found or added (then zeroed except for the key). Items may move.
 *
 *	with the functions or macros `uint32_t hashOf(key)` and `bool isKept(const Item *item)`.
 */
#ifndef ETW_BASE_SLOT_TABLE_H
#define ETW_BASE_SLOT_TABLE_H

#include "base/alloc.h"

#define ETW_SLOT_TABLE(Name, Table, Item, key, hashOf, isKept, FIRST)                              \
    static inline Item *Name##Slot(const Table *table, uint64_t wanted)                            \
    {                                                                                              \
        uint32_t at = hashOf(wanted) & (table->capacity - 1);                                      \
        while (table->slots[at].key != 0 && table->slots[at].key != wanted) {                      \
            at = (at + 1) & (table->capacity - 1);                                                 \
        }                                                                                          \
        return &table->slots[at];                                                                  \
    }                                                                                              \
    static inline Item *Name##Find(const Table *table, uint64_t wanted)                            \
    {                                                                                              \
        Item *item = table->capacity == 0 || wanted == 0 ? NULL : Name##Slot(table, wanted);       \
        return item != NULL && item->key != 0 ? item : NULL;                                       \
    }                                                                                              \
    static void Name##Grow(Table *table)                                                           \
    {                                                                                              \
        Item *old = table->slots, *end = old + table->capacity;                                    \
        uint32_t kept = 0;                                                                         \
        for (const Item *item = old; item < end; item++) {                                         \
            kept += item->key != 0 && isKept(item);                                                \
        }                                                                                          \
        table->capacity = FIRST;                                                                   \
        while (table->capacity < 4 * kept) {                                                       \
            table->capacity *= 2;                                                                  \
        }                                                                                          \
        table->slots = (Item *)EtwAlloc(table->capacity * sizeof *table->slots);                   \
        table->used = kept;                                                                        \
        for (const Item *item = old; item < end; item++) {                                         \
            if (item->key != 0 && isKept(item)) {                                                  \
                *Name##Slot(table, item->key) = *item;                                             \
            }                                                                                      \
        }                                                                                          \
        EtwFree(old);                                                                              \
    }                                                                                              \
    static inline Item *Name##Add(Table *table, uint64_t wanted)                                   \
    {                                                                                              \
        Item *item = Name##Find(table, wanted);                                                    \
        if (item == NULL) {                                                                        \
            if (2 * (table->used + 1) > table->capacity) {                                         \
                Name##Grow(table);                                                                 \
            }                                                                                      \
            item = Name##Slot(table, wanted);                                                      \
            item->key = (__typeof__(item->key))wanted;                                             \
            table->used++;                                                                         \
        }                                                                                          \
        return item;                                                                               \
    }

#endif
