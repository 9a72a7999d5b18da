/*
 * flow/render/columns.h --
 *
 *	Columns of readable tables, and the formats of durations and sizes. A cell is appended and
 *	then padded with blanks; widths count the columns that characters take on a terminal.
 */
#ifndef ETW_COLUMNS_H
#define ETW_COLUMNS_H

#include "base/text.h"

/* Pad the text that was appended from `from` on to `width`, with blanks after it or before it. */
void EtwColumnLeft(EtwText *out, size_t from, size_t width);
void EtwColumnRight(EtwText *out, size_t from, size_t width);

/* 850 ns, 1.234 us, 4.187 ms, 2.500 s; truncated, not rounded. */
void EtwAddDuration(EtwText *out, uint64_t ns);
/* The same, rounded to this number of digits; `micro` is the name of the smallest unit (us). */
void EtwAddTime(EtwText *out, double ns, int digits, const char *micro);
/* The same with 3 digits, in a column of 12 characters; 0: "-". */
void EtwAddTimeColumn(EtwText *out, uint64_t ns);
/* 12 bytes, 1.5 KB, 120 MB: units of 1024. */
void EtwAddSize(EtwText *out, uint64_t bytes);
/* A number of transferred bytes in units of 1000: 9999 bytes, 12.3 KB, 4.5 MB. */
void EtwAddVolume(EtwText *out, uint64_t bytes);

#endif
