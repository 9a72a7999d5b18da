/*
 * flow/render/columns.c --
 *
 *	Columns, durations and sizes (flow/render/columns.h).
 */
#include "flow/render/columns.h"
#include "base/unicode.h"
#include "base/calendar.h"

/* ---- Columns --------------------------------------------------------------------------------- */

/* The number of blanks missing; reserves space for them. */
static size_t missing(EtwText *out, size_t from, size_t width)
{
    EtwTextReserve(out, width);
    size_t length = EtwUtf8Width(out->data + from, out->size - from);
    return length < width ? width - length : 0;
}

void EtwColumnLeft(EtwText *out, size_t from, size_t width)
{
    size_t blanks = missing(out, from, width);
    memset(out->data + out->size, ' ', blanks);
    out->size += blanks;
}

void EtwColumnRight(EtwText *out, size_t from, size_t width)
{
    size_t blanks = missing(out, from, width);
    memmove(out->data + from + blanks, out->data + from, out->size - from);
    memset(out->data + from, ' ', blanks);
    out->size += blanks;
}

/* ---- Durations ------------------------------------------------------------------------------- */

static const struct {
    uint64_t ns;
    const char *name;
} times[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}};

void EtwAddDuration(EtwText *out, uint64_t ns)
{
    for (int i = 0; i < 3; i++) {
        if (ns >= times[i].ns) {
            char digits[4];
            EtwPutPadded(digits, (uint32_t)(ns % times[i].ns / (times[i].ns / 1000)), 4);
            EtwTextDecimal(out, ns / times[i].ns);
            digits[0] = '.';
            EtwTextAdd(out, digits, 4);
            EtwTextChar(out, ' ');
            EtwTextStr(out, times[i].name);
            return;
        }
    }
    EtwTextDecimal(out, ns);
    EtwTextStr(out, " ns");
}

void EtwAddTime(EtwText *out, double ns, int digits, const char *micro)
{
    int i = 0;
    while (i < 2 && ns < (double)times[i].ns) {
        i++;
    }
    EtwTextPrintf(out, "%.*f %s", digits, ns / (double)times[i].ns, i < 2 ? times[i].name : micro);
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

void EtwAddSize(EtwText *out, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    double size = (double)bytes;
    int unit = 0;
    while (size >= 1024 && unit < 4) {
        size /= 1024;
        unit++;
    }
    EtwTextPrintf(out, "%.*f %s", unit != 0 && size < 100, size, units[unit]);
}

void EtwAddVolume(EtwText *out, uint64_t bytes)
{
    if (bytes >= 1000000) {
        EtwTextPrintf(out, "%.1f MB", (double)bytes / 1e6);
    } else if (bytes >= 10000) {
        EtwTextPrintf(out, "%.1f KB", (double)bytes / 1e3);
    } else {
        EtwTextPrintf(out, "%llu bytes", (unsigned long long)bytes);
    }
}

void EtwAddTimeColumn(EtwText *out, uint64_t ns)
{
    size_t from = out->size;
    if (ns > 0) {
        EtwAddTime(out, (double)ns, 3, "us");
    } else {
        EtwTextChar(out, '-');
    }
    EtwColumnRight(out, from, 12);
}
