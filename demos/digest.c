/*
 * demos/digest.c --
 *
 *	A C program with events of its own, through etw.h alone: adds up the bytes of its standard
 *	input, and says so in an event that carries the activity id given as argument. Part of
 *	crossing.tcl.
 */
#include "etw.h"
#include <stdio.h>

/* {xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx}, braces or not, in memory as Windows has it. */
static int parse(const char *text, Etw_Guid *guid)
{
    static const int order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    int count = 0;
    while (count < 16 && *text != '\0') {
        unsigned byte;
        if (*text == '{' || *text == '-') {
            text++;
        } else if (sscanf(text, "%2x", &byte) == 1 && text[1] != '\0') {
            guid->bytes[order[count++]] = (uint8_t)byte;
            text += 2;
        } else {
            return 0;
        }
    }
    return count == 16;
}

int main(int argc, char **argv)
{
    static const Etw_Field fields[] = {
            {"Bytes", ETW_IN_UINT32, 0, 0, 0}, {"Sum", ETW_IN_UINT32, 0, 0, 0}};
    Etw_Provider *provider = Etw_Register("Demo-Digest", NULL);
    Etw_Event *digest = Etw_DefineEvent(
            provider, &(Etw_EventDesc){.name = "Digest", .level = ETW_LEVEL_INFO}, fields, 2);
    Etw_Guid activity;
    uint32_t bytes = 0, sum = 0;
    int c;
    if (argc > 1 && parse(argv[1], &activity)) {
        Etw_ActivitySet(&activity);
    }
    while ((c = getchar()) != EOF) {
        bytes++;
        sum = sum * 31 + (uint32_t)c;
    }
    Etw_Write(digest, (Etw_Data[]){{&bytes, sizeof bytes}, {&sum, sizeof sum}}, 2);
    printf("%u bytes, sum %u\n", bytes, sum);
    Etw_Unregister(provider);
    return 0;
}
