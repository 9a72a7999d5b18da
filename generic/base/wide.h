/*
 * base/wide.h --
 *
 *	Integers of 128 bits, for values that 64 bits cannot hold: the union of signed and unsigned 64-bit
 *	numbers, times in ns, intermediate products. A struct on every platform, because compilers for 32
 *	bits have no such type; there, and with ETW_WIDE_PORTABLE, wide_portable.h implements it.
 *
 *	Functions that return bool return false where the result needs more than 128 bits; *resultPtr
 *	is undefined then.
 */
#ifndef ETW_BASE_WIDE_H
#define ETW_BASE_WIDE_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__SIZEOF_INT128__) && !defined(ETW_WIDE_PORTABLE)

__extension__ typedef __int128 EtwNativeWide;
__extension__ typedef unsigned __int128 EtwNativeUwide;

typedef struct EtwWide {
    EtwNativeWide v;
} EtwWide;

static inline EtwWide EtwWideInt(int64_t i)
{
    return (EtwWide){i};
}

static inline EtwWide EtwWideUint(uint64_t u)
{
    return (EtwWide){u};
}

/* True if it fits 64 bits; stores the number. */
static inline bool EtwWideFits(EtwWide a, int64_t *resultPtr)
{
    *resultPtr = (int64_t)a.v;
    return a.v == *resultPtr;
}

/* -1, 0, 1: a is less than b, equal, greater. */
static inline int EtwWideOrder(EtwWide a, EtwWide b)
{
    return (a.v > b.v) - (a.v < b.v);
}

static inline long double EtwWideReal(EtwWide a)
{
    return (long double)a.v;
}

static inline bool EtwWideAdd(EtwWide a, EtwWide b, EtwWide *resultPtr)
{
    return !__builtin_add_overflow(a.v, b.v, &resultPtr->v);
}

static inline bool EtwWideSub(EtwWide a, EtwWide b, EtwWide *resultPtr)
{
    return !__builtin_sub_overflow(a.v, b.v, &resultPtr->v);
}

static inline bool EtwWideMul(EtwWide a, EtwWide b, EtwWide *resultPtr)
{
    return !__builtin_mul_overflow(a.v, b.v, &resultPtr->v);
}

/* Rounded down, as Tcl does; the remainder has the sign of b. b is not 0. */
static inline bool EtwWideDivide(EtwWide a, EtwWide b, EtwWide *quotientPtr, EtwWide *restPtr)
{
    if (b.v == -1) { /* the smallest number cannot be negated */
        *restPtr = EtwWideInt(0);
        return EtwWideSub(*restPtr, a, quotientPtr);
    }
    quotientPtr->v = a.v / b.v;
    restPtr->v = a.v % b.v;
    if (restPtr->v != 0 && (restPtr->v < 0) != (b.v < 0)) {
        quotientPtr->v--;
        restPtr->v += b.v;
    }
    return true;
}

static inline EtwWide EtwWideAnd(EtwWide a, EtwWide b)
{
    return (EtwWide){a.v & b.v};
}

static inline EtwWide EtwWideOr(EtwWide a, EtwWide b)
{
    return (EtwWide){a.v | b.v};
}

static inline EtwWide EtwWideXor(EtwWide a, EtwWide b)
{
    return (EtwWide){a.v ^ b.v};
}

/* Shift by 0 to 126 bits; the sign is kept. */
static inline EtwWide EtwWideShiftRight(EtwWide a, int bits)
{
    return (EtwWide){a.v >> bits};
}

static inline bool EtwWideShiftLeft(EtwWide a, int bits, EtwWide *resultPtr)
{
    resultPtr->v = (EtwNativeWide)((EtwNativeUwide)a.v << bits);
    return resultPtr->v >> bits == a.v;
}

/* a * b / 2^32, its lower 64 bits. */
static inline uint64_t EtwMulShift32(uint64_t a, uint64_t b)
{
    return (uint64_t)((EtwNativeUwide)a * b >> 32);
}

/* a * 2^32 / b, its lower 64 bits; b is not 0. */
static inline uint64_t EtwShift32Div(uint64_t a, uint64_t b)
{
    return (uint64_t)(((EtwNativeUwide)a << 32) / b);
}

/* a * b / c, rounded towards 0, its lower 64 bits; c is not 0. */
static inline uint64_t EtwMulDiv(uint64_t a, uint64_t b, uint64_t c)
{
    return (uint64_t)((EtwNativeUwide)a * b / c);
}

#else
#include "base/wide_portable.h"
#endif

/* ---- Derived functions ------------------------------------------------------------------------- */

static inline int EtwWideSign(EtwWide a)
{
    return EtwWideOrder(a, EtwWideInt(0));
}

static inline EtwWide EtwWideNot(EtwWide a)
{
    return EtwWideXor(a, EtwWideInt(-1));
}

/* a * b + c: always fits. */
static inline EtwWide EtwWideMulAdd(int64_t a, int64_t b, int64_t c)
{
    EtwWide product, sum;
    EtwWideMul(EtwWideInt(a), EtwWideInt(b), &product);
    EtwWideAdd(product, EtwWideInt(c), &sum);
    return sum;
}

/* As EtwMulDiv, for any sign of a. */
static inline int64_t EtwMulDivSigned(int64_t a, uint64_t b, uint64_t c)
{
    return a < 0 ? (int64_t)(0 - EtwMulDiv(0 - (uint64_t)a, b, c))
                 : (int64_t)EtwMulDiv((uint64_t)a, b, c);
}

#endif
