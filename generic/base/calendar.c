/*
 * base/calendar.c --
 *
 *	Dates (base/calendar.h). Years begin in March, so that a leap day is the last day of a year.
 *	Eras of 400 years all have the same number of days.
 */
#include "base/calendar.h"

enum { DAYS_AN_ERA = 146097, DAYS_TO_1970 = 719468 /* from 0000-03-01 */ };

EtwCivil EtwCivilOfDay(int64_t day)
{
    int64_t shifted = day + DAYS_TO_1970;
    int64_t era = EtwFloorDivide(shifted, DAYS_AN_ERA);
    unsigned inEra = (unsigned)(shifted - era * DAYS_AN_ERA);
    unsigned year = (inEra - inEra / 1460 + inEra / 36524 - inEra / 146096) / 365;
    unsigned inYear = inEra - (365 * year + year / 4 - year / 100);
    int march = (int)(5 * inYear + 2) / 153; /* 0: March */
    return (EtwCivil){
            .year = era * 400 + year + (march >= 10),
            .month = march < 10 ? march + 3 : march - 9,
            .day = (int)inYear - (153 * march + 2) / 5 + 1,
    };
}

int64_t EtwDayOfCivil(int64_t year, int month, int64_t day)
{
    year -= month <= 2;
    int64_t era = EtwFloorDivide(year, 400), inEra = year - era * 400;
    int64_t inYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * DAYS_AN_ERA + inEra * 365 + inEra / 4 - inEra / 100 + inYear - DAYS_TO_1970;
}

char *EtwPutDateTime(char *p, int64_t second)
{
    int64_t day = EtwFloorDivide(second, ETW_SECONDS_A_DAY);
    uint32_t inDay = (uint32_t)(second - day * ETW_SECONDS_A_DAY);
    EtwCivil date = EtwCivilOfDay(day);
    if (date.year >= 10000) {
        p = EtwPutDecimal(p, (uint64_t)date.year);
    } else {
        p = EtwPutPadded(p, (uint32_t)date.year, 4);
    }
    *p++ = '-';
    p = EtwPutPadded(p, (uint32_t)date.month, 2);
    *p++ = '-';
    p = EtwPutPadded(p, (uint32_t)date.day, 2);
    *p++ = 'T';
    p = EtwPutPadded(p, inDay / 3600, 2);
    *p++ = ':';
    p = EtwPutPadded(p, inDay / 60 % 60, 2);
    *p++ = ':';
    return EtwPutPadded(p, inDay % 60, 2);
}

/* Exactly `digits` digits; their end, or NULL. */
static const char *takeDigits(const char *at, int digits, int *valuePtr)
{
    *valuePtr = 0;
    for (int i = 0; i < digits; i++) {
        if (at[i] < '0' || at[i] > '9') {
            return NULL;
        }
        *valuePtr = *valuePtr * 10 + (at[i] - '0');
    }
    return at + digits;
}

/* One of the separators, followed by two digits. */
static const char *takePart(const char *at, const char *separators, int *valuePtr)
{
    if (at == NULL || *at == '\0' || strchr(separators, *at) == NULL) {
        return NULL;
    }
    return takeDigits(at + 1, 2, valuePtr);
}

static const char *takeFraction(const char *at, int64_t *nsPtr)
{
    int64_t place = ETW_NS_A_SECOND;
    *nsPtr = 0;
    if (*at != '.') {
        return at;
    }
    for (at++; *at >= '0' && *at <= '9' && place > 1; at++) {
        place /= 10;
        *nsPtr += place * (*at - '0');
    }
    return at;
}

/* "Z", "+01:00", "+0100", "+01" or nothing: the offset from UTC in minutes. False: something else. */
static bool takeZone(const char *at, int *minutesPtr)
{
    int hours, minutes = 0;
    *minutesPtr = 0;
    if (*at != '+' && *at != '-') {
        return strcmp(at + (*at == 'Z'), "") == 0;
    }
    int sign = *at == '-' ? -1 : 1;
    at = takeDigits(at + 1, 2, &hours);
    if (at != NULL && *at != 0) {
        at = takeDigits(at + (*at == ':'), 2, &minutes);
    }
    *minutesPtr = at != NULL ? sign * (hours * 60 + minutes) : 0;
    return at != NULL && *at == 0 && hours <= 23 && minutes <= 59;
}

bool EtwParseDateTime(const char *text, int64_t *nsPtr)
{
    int year, month, day, hour, minute, zone, second = 0;
    int64_t fraction = 0;
    const char *at = takeDigits(text, 4, &year);
    at = takePart(at, "-", &month);
    at = takePart(at, "-", &day);
    at = takePart(at, "T ", &hour);
    at = takePart(at, ":", &minute);
    if (at != NULL && *at == ':') {
        at = takePart(at, ":", &second);
        at = at != NULL ? takeFraction(at, &fraction) : NULL;
    }
    if (at == NULL || !takeZone(at, &zone) || year < 1678 || year > 2261 || month < 1 ||
            month > 12 || hour > 23 || minute > 59 || second > 60) {
        return false;
    }
    int64_t inDay = (hour * 60 + minute - zone) * 60 + second,
            days = EtwDayOfCivil(year, month, day);
    *nsPtr = (days * ETW_SECONDS_A_DAY + inDay) * ETW_NS_A_SECOND + fraction;
    return EtwCivilOfDay(days).day == day; /* the month has such a day */
}

void EtwTextFiletime(EtwText *out, uint64_t filetime)
{
    enum { TICKS_A_SECOND = 10000000 };
    uint32_t fraction = (uint32_t)(filetime % TICKS_A_SECOND);
    EtwTextReserve(out, 48);
    char *p = EtwPutDateTime(out->data + out->size,
            (int64_t)(filetime / TICKS_A_SECOND) - ETW_FILETIME_EPOCH / TICKS_A_SECOND);
    *p++ = '.';
    *p++ = (char)('0' + fraction / 1000000);
    p = EtwPutPadded(p, fraction % 1000000, 6);
    *p++ = 'Z';
    out->size = (size_t)(p - out->data);
}
