/*
 * flow/calls/histogram.c --
 *
 *	Counts values in buckets whose width grows with the value.
 */
#include "flow/calls/histogram.h"
#include "base/alloc.h"

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

void EtwHistogramAdd(EtwHistogram *h, uint64_t value)
{
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

uint64_t EtwHistogramAt(const EtwHistogram *h, double share)
{
    uint64_t rank = (uint64_t)(share * (double)h->count + 0.999999), seen = 0;
    rank = rank < 1 ? 1 : rank > h->count ? h->count : rank;
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
