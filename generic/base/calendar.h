/*
 * base/calendar.h --
 *
 *	Dates of the proleptic Gregorian calendar, FILETIMEs (100 ns since 1601-01-01 UTC), and the
 *	text of both. Other times are in ns since 1970-01-01 UTC. No time zones, no leap seconds.
 */
#ifndef ETW_BASE_CALENDAR_H
#define ETW_BASE_CALENDAR_H

#include "base/text.h"

#define ETW_FILETIME_EPOCH INT64_C(116444736000000000) /* 1970-01-01 as a FILETIME */

enum { ETW_SECONDS_A_DAY = 86400, ETW_NS_A_SECOND = 1000000000 };

typedef struct EtwCivil {
    int64_t year;
    int month, day; /* from 1 */
} EtwCivil;

/* The date of a day; day 0 is 1970-01-01. */
EtwCivil EtwCivilOfDay(int64_t day);
/* The day of a date. The month is 0 to 14; a day beyond the month's range carries over. */
int64_t EtwDayOfCivil(int64_t year, int month, int64_t day);

/* Rounded towards the past. */
static inline int64_t EtwFloorDivide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}
static inline int64_t EtwFiletimeOfNs(int64_t ns)
{
    return EtwFloorDivide(ns, 100) + ETW_FILETIME_EPOCH;
}
/* The FILETIME is of a year from 1678 to 2262. */
static inline int64_t EtwNsOfFiletime(int64_t filetime)
{
    return (filetime - ETW_FILETIME_EPOCH) * 100;
}

/* Write exactly `digits` (even, up to 8) digits of v; the end. */
static inline char *EtwPutPadded(char *p, uint32_t v, int digits)
{
    for (int at = digits - 2; at >= 0; at -= 2, v /= 100) {
        memcpy(p + at, etwDigitPairs + 2 * (v % 100), 2);
    }
    return p + digits;
}

/* Write a time as "2024-02-29T23:59:59" (room for 24; years from 0 to 99999); the end. */
char *EtwPutDateTime(char *p, int64_t second);
/*
 * The ns since 1970 of "2024-02-29T23:59:59.123456789Z", as EtwPutDateTime writes it; the seconds,
 * their fraction and the Z may be missing, T may be a space. False: not such a time of 1678 to 2261.
 */
bool EtwParseDateTime(const char *text, int64_t *nsPtr);
/* Append a FILETIME as "2024-02-29T23:59:59.1234567Z". */
void EtwTextFiletime(EtwText *out, uint64_t filetime);

#endif
