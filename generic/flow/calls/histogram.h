/*
 * flow/calls/histogram.h --
 *
 *	Values in buckets, ETW_OCTAVE_STEPS for each power of two: the error of a percentile is at
 *	most 1.6 %. An octave is allocated when it gets its first value: at most 8 KB. The first
 *	ETW_HISTOGRAM_EXACT values are also kept themselves: as long as there are no more, percentiles are exact.
 */
#ifndef ETW_HISTOGRAM_H
#define ETW_HISTOGRAM_H

#include <stdint.h>

enum { ETW_OCTAVE_STEPS = 32, ETW_OCTAVES = 60, ETW_HISTOGRAM_EXACT = 128 };
typedef struct EtwHistogram {
    uint32_t *octaves[ETW_OCTAVES];
    uint64_t count;
    uint64_t *values; /* all of them; NULL: there are none, or too many */
} EtwHistogram;
void EtwHistogramAdd(EtwHistogram *h, uint64_t value);
/* Add all values of another histogram. */
void EtwHistogramMerge(EtwHistogram *h, const EtwHistogram *other);
/* The value that this share (0..1) of all values does not exceed; 0 when there are none. */
uint64_t EtwHistogramAt(const EtwHistogram *h, double share);
/* The number of values in an octave; *lowPtr: its lower bound. */
uint64_t EtwHistogramOctave(const EtwHistogram *h, int octave, uint64_t *lowPtr);
void EtwHistogramFree(EtwHistogram *h);

#endif
