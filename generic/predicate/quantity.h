/*
 * predicate/quantity.h --
 *
 *	Numbers with a unit, as people write them: durations (10ms) and sizes (64KB).
 */
#ifndef ETW_PREDICATE_QUANTITY_H
#define ETW_PREDICATE_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum EtwQuantityKind { ETW_QUANTITY_DURATION, ETW_QUANTITY_SIZE } EtwQuantityKind;

/*
 * Parse a number and its unit at the start of a text: 10ms, 1.5s, 64KB. Durations become nanoseconds
 * (units ns, us, ms, s, min, h), sizes bytes (K or KB or KiB, M, G, T: powers of 1024; KB in any
 * case). Returns the number of characters; 0: not such a text, or the result exceeds 2^63 - 1.
 */
size_t EtwQuantityAt(const char *text, size_t size, EtwQuantityKind *kindPtr, int64_t *valuePtr);
/* The whole text is a quantity of this kind. */
bool EtwQuantityParse(const char *text, EtwQuantityKind kind, int64_t *valuePtr);

#endif
