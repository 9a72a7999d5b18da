/*
 * tcl/core/address.c --
 *
 *	Parses text forms of IPv4 and IPv6 addresses and of SIDs. Does not use the system's functions,
 *	so that results are the same on every platform and no socket library is linked.
 */
#include "tcl/core/value_bytes.h"
#include <ctype.h>
#include <stdlib.h>

/* Parses a decimal number of at most `max`, without sign; NULL if there is none. */
static const char *takeDecimal(const char *text, uint64_t max, uint64_t *valuePtr)
{
    uint64_t value = 0;

    if (!isdigit((unsigned char)*text)) {
        return NULL;
    }
    while (isdigit((unsigned char)*text)) {
        value = value * 10 + (uint64_t)(*text++ - '0');
        if (value > max) {
            return NULL;
        }
    }
    *valuePtr = value;
    return text;
}

bool EtwParseIpv4(const char *text, uint8_t address[4])
{
    uint64_t part;

    for (int i = 0; i < 4; i++) {
        if (i > 0 && *text++ != '.') {
            return false;
        }
        text = takeDecimal(text, 255, &part);
        if (text == NULL) {
            return false;
        }
        address[i] = (uint8_t)part;
    }
    return *text == '\0';
}

/* Parses one group of one to four hexadecimal digits. */
static const char *takeGroup(const char *text, uint8_t pair[2])
{
    char *end;

    if (!isxdigit((unsigned char)*text)) {
        return NULL;
    }
    unsigned long value = strtoul(text, &end, 16);
    if (end - text > 4) {
        return NULL;
    }
    pair[0] = (uint8_t)(value >> 8);
    pair[1] = (uint8_t)value;
    return end;
}

/*
 * Parses groups, and an IPv4 address as the last of them; stops after "::". Returns the number of
 * bytes stored, or -1.
 */
static int takeGroups(const char **textPtr, uint8_t *bytes, int capacity)
{
    const char *text = *textPtr;
    int size = 0;

    while (*text != '\0' && *text != ':') {
        if (size + 4 <= capacity && EtwParseIpv4(text, bytes + size)) {
            *textPtr = text + strlen(text);
            return size + 4;
        }
        if (size + 2 > capacity || (text = takeGroup(text, bytes + size)) == NULL) {
            return -1;
        }
        size += 2;
        if (*text == ':' && text[1] != ':') {
            text++;
            if (*text == '\0') {
                return -1;
            }
        } else if (*text != ':' && *text != '\0') {
            return -1;
        }
    }
    *textPtr = text;
    return size;
}

bool EtwParseIpv6(const char *text, uint8_t address[16])
{
    uint8_t tail[16];

    memset(address, 0, 16);
    if (EtwParseIpv4(text, address + 12)) {
        address[10] = address[11] = 0xFF;
        return true;
    }
    memset(address, 0, 16);
    int head = takeGroups(&text, address, 16);
    if (head < 0 || *text == '\0') {
        return head == 16;
    }
    if (text[0] != ':' || text[1] != ':' || head > 14) {
        return false;
    }
    text += 2;
    int size = takeGroups(&text, tail, 14 - head);
    if (size < 0 || *text != '\0') {
        return false;
    }
    memcpy(address + 16 - size, tail, (size_t)size);
    return true;
}

bool EtwParseSid(const char *text, uint8_t sid[68], size_t *sizePtr)
{
    uint64_t revision, part;
    int count = 0;

    if ((text[0] != 'S' && text[0] != 's') || text[1] != '-' ||
            (text = takeDecimal(text + 2, 255, &revision)) == NULL || *text++ != '-' ||
            (text = takeDecimal(text, (1ULL << 48) - 1, &part)) == NULL) {
        return false;
    }
    sid[0] = (uint8_t)revision;
    for (int i = 0; i < 6; i++) {
        sid[2 + i] = (uint8_t)(part >> (40 - 8 * i));
    }
    while (*text == '-' && count < 15) {
        text = takeDecimal(text + 1, UINT32_MAX, &part);
        if (text == NULL) {
            return false;
        }
        EtwStore32(sid + 8 + 4 * count++, (uint32_t)part);
    }
    sid[1] = (uint8_t)count;
    *sizePtr = 8 + 4 * (size_t)count;
    return *text == '\0';
}
