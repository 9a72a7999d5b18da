/*
 * flow/calls/histogram.c --
 *
 *	Counts values in buckets whose width grows with the value.
 */
#include "flow/calls/histogram.h"
#include "base/alloc.h"
#include <stdlib.h>
#include <string.h>

/* Each value below ETW_OCTAVE_STEPS has its own bucket: octave 0. */
static int octaveOf(uint64_t value, int *stepPtr)
{
    if (value < ETW_OCTAVE_STEPS) {
        *stepPtr = (int)value;
        return 0;
    }
    int shift = 58 - __builtin_clzll(value); /* leaves the 6 most significant bits */
    *stepPtr = (int)(value >> shift) - ETW_OCTAVE_STEPS;
    return shift + 1;
}

static uint64_t middleOf(int octave, int step)
{
    if (octave == 0) {
        return (uint64_t)step;
    }
    uint64_t low = (uint64_t)(ETW_OCTAVE_STEPS + step) << (octave - 1);
    return low + (((uint64_t)1 << (octave - 1)) - 1) / 2;
}

/* Before the count is raised. */
static void keepValue(EtwHistogram *h, uint64_t value)
{
    if (h->count == ETW_HISTOGRAM_EXACT) {
        EtwFree(h->values);
        h->values = NULL;
    }
    if (h->count >= ETW_HISTOGRAM_EXACT) {
        return;
    }
    if ((h->count & (h->count - 1)) == 0) { /* full: 0, 1, 2, 4, ... values */
        size_t capacity = h->count > 0 ? 2 * (size_t)h->count : 1;
        h->values = EtwRealloc(h->values, capacity * sizeof *h->values);
    }
    h->values[h->count] = value;
}

void EtwHistogramAdd(EtwHistogram *h, uint64_t value)
{
    keepValue(h, value);
    int step, octave = octaveOf(value, &step);
    if (octave >= ETW_OCTAVES) {
        octave = ETW_OCTAVES - 1;
        step = ETW_OCTAVE_STEPS - 1;
    }
    if (h->octaves[octave] == NULL) {
        h->octaves[octave] = EtwAlloc(ETW_OCTAVE_STEPS * sizeof **h->octaves);
    }
    h->octaves[octave][step]++;
    h->count++;
}

void EtwHistogramMerge(EtwHistogram *h, const EtwHistogram *other)
{
    if (h->count + other->count > ETW_HISTOGRAM_EXACT) {
        EtwFree(h->values);
        h->values = NULL;
    } else if (other->count > 0) {
        h->values = EtwRealloc(h->values, ETW_HISTOGRAM_EXACT * sizeof *h->values);
        memcpy(h->values + h->count, other->values, (size_t)other->count * sizeof *h->values);
    }
    for (int i = 0; i < ETW_OCTAVES; i++) {
        if (other->octaves[i] != NULL && h->octaves[i] == NULL) {
            h->octaves[i] = EtwAlloc(ETW_OCTAVE_STEPS * sizeof **h->octaves);
        }
        for (int k = 0; other->octaves[i] != NULL && k < ETW_OCTAVE_STEPS; k++) {
            h->octaves[i][k] += other->octaves[i][k];
        }
    }
    h->count += other->count;
}

static int byValue(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static uint64_t valueAt(const EtwHistogram *h, uint64_t rank)
{
    uint64_t sorted[ETW_HISTOGRAM_EXACT];
    memcpy(sorted, h->values, (size_t)h->count * sizeof *sorted);
    qsort(sorted, (size_t)h->count, sizeof *sorted, byValue);
    return sorted[rank - 1];
}

uint64_t EtwHistogramAt(const EtwHistogram *h, double share)
{
    uint64_t rank = (uint64_t)(share * (double)h->count + 0.999999), seen = 0;
    rank = rank < 1 ? 1 : rank > h->count ? h->count : rank;
    if (h->values != NULL) {
        return valueAt(h, rank);
    }
    for (int i = 0; i < ETW_OCTAVES; i++) {
        for (int k = 0; h->octaves[i] != NULL && k < ETW_OCTAVE_STEPS; k++) {
            seen += h->octaves[i][k];
            if (seen >= rank && h->count > 0) {
                return middleOf(i, k);
            }
        }
    }
    return 0;
}

void EtwHistogramFree(EtwHistogram *h)
{
    for (int i = 0; i < ETW_OCTAVES; i++) {
        EtwFree(h->octaves[i]);
    }
    EtwFree(h->values);
}

uint64_t EtwHistogramOctave(const EtwHistogram *h, int octave, uint64_t *lowPtr)
{
    uint64_t count = 0;
    *lowPtr = octave == 0 ? 0 : (uint64_t)ETW_OCTAVE_STEPS << (octave - 1);
    for (int k = 0; h->octaves[octave] != NULL && k < ETW_OCTAVE_STEPS; k++) {
        count += h->octaves[octave][k];
    }
    return count;
}
