/*
 * event/clock_anchors.c --
 *
 *	See clock_anchors.h. Uses 32.32 fixed point with a 128-bit product: the error is below a
 *	nanosecond over an hour.
 */
#include "event/clock_anchors.h"
#include "base/wide.h"

/* ns per tick in 32.32 fixed point, from two instants. */
static uint64_t slope(uint64_t ticks, int64_t steady)
{
    return EtwShift32Div((uint64_t)steady, ticks);
}

/*
 * Calibrated once: measuring the TSC against the steady clock for about 1 ms has an error of about
 * 100 ppm, which suffices until the first anchor a second later. Other clocks have known units.
 */
static uint64_t initialScale(void)
{
    static _Atomic uint64_t known;
    uint64_t scale = known;
    if (scale == 0) {
        OsInstant a, b;
        OsNow(&a);
        do {
            OsNow(&b);
        } while (b.steady - a.steady < 1000000);
        scale = slope(b.ticks - a.ticks, b.steady - a.steady);
        known = scale;
    }
    return scale;
}

void EtwAnchorsInit(EtwAnchors *a, const OsInstant *start)
{
    a->ticks0 = a->ticks1 = a->ticksBefore = start->ticks;
    a->steady0 = a->steady1 = a->steadyBefore = start->steady;
    a->scale = a->scaleBefore = initialScale();
}

void EtwAnchorsJoin(EtwAnchors *a, const OsInstant *start, const OsInstant *now)
{
    EtwAnchorsInit(a, start);
    if (now->steady - start->steady > 10000000 && now->ticks > start->ticks) {
        a->scale = a->scaleBefore = slope(now->ticks - start->ticks, now->steady - start->steady);
    }
}

void EtwAnchorsAdd(EtwAnchors *a, const OsInstant *now)
{
    uint64_t ticks = now->ticks;
    int64_t here;
    if (ticks < a->ticks1 || ticks - a->ticks0 < (uint64_t)1 << 20) {
        return; /* too close to the first anchor to determine the slope */
    }
    /*
     * The new line starts at the end of the old one, so that the conversion is monotonic. Its slope
     * is computed from the first anchor: a long interval is more exact than a short one, and both
     * clocks were equal at the start.
     */
    here = EtwAnchorsSteady(a, ticks);
    a->ticksBefore = a->ticks1;
    a->steadyBefore = a->steady1;
    a->scaleBefore = a->scale;
    a->scale = slope(ticks - a->ticks0, now->steady - a->steady0);
    a->ticks1 = ticks;
    a->steady1 = here;
    /* The remaining difference is removed during the next second, by at most 500 ppm. */
    int64_t error = now->steady - here;
    int64_t most = 500000;
    error = error > most ? most : error < -most ? -most : error;
    a->scale = (uint64_t)((int64_t)a->scale + EtwMulDivSigned(error, a->scale, 1000000000));
}

static int64_t span(uint64_t ticks, uint64_t scale)
{
    return (int64_t)EtwMulShift32(ticks, scale);
}

int64_t EtwAnchorsSteady(const EtwAnchors *a, uint64_t ticks)
{
    if (ticks >= a->ticks1) {
        return a->steady1 + span(ticks - a->ticks1, a->scale);
    }
    if (ticks >= a->ticksBefore) {
        return a->steadyBefore + span(ticks - a->ticksBefore, a->scaleBefore);
    }
    return a->steadyBefore - span(a->ticksBefore - ticks, a->scaleBefore);
}
