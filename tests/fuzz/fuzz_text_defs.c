/*
 * tests/fuzz/fuzz_text_defs.c --
 *
 *	Texts that describe events (.tmf, .mof) through their readers; what they describe then decodes
 *	and formats a payload. The first byte says which reader, the last 64 bytes are the payload, too.
 *	With -DFUZZ_SEEDS a program that writes seeds.
 */
#include "etl/format.h"
#include "schema/model/tcl_list.h"
#include "schema/store/definition_files.h"
#include "schema/model/text_defs.h"
#include <stdio.h>
#include <stdlib.h>

enum { PAYLOAD = 64 };

typedef struct Tail {
    const uint8_t *data;
    size_t size;
} Tail;

static void useEvent(const EtwEventDef *def, const Tail *tail)
{
    EtwText out = {0};
    EtwEvent event = {.kind = def->schema.style == ETW_MESSAGE_WPP ? ETL_MESSAGE : ETL_FULL64,
            .pointerSize = tail->size & 1 ? 4 : 8,
            .desc = def->desc,
            .payload = tail->data,
            .payloadSize = (uint32_t)tail->size};
    EtwListProps(&out, &def->schema, &event);
    if (def->schema.style == ETW_MESSAGE_WPP) {
        EtwFormatMessageWpp(&out, &def->schema, &event);
    }
    EtwTextFree(&out);
}

static void takeDef(void *ctx, EtwProviderDef *def)
{
    for (int i = 0; i < def->eventCount && i < 64; i++) {
        useEvent(def->events[i], ctx);
    }
    EtwDefFree(def);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    EtwError err;
    if (size == 0) {
        return 0;
    }
    size_t tail = size - 1 < PAYLOAD ? size - 1 : PAYLOAD;
    Tail payload = {data + size - tail, tail};
    EtwSchemaReadProc *readers[] = {EtwTmfRead, EtwMofRead};
    if (readers[data[0] & 1]("fuzz", data + 1, size - 1, takeDef, &payload, &err) != ETW_OK &&
            err.message[0] == 0) {
        abort();
    }
    return 0;
}

#ifdef FUZZ_SEEDS
static const char *const seeds[] = {
        "0e91d0f2c-4da1-36b3-f22f-a6f5c11dda43 Driver // SRC=Queue.c MJ= MN=\n"
        "#enumv _STATE { Idle(0), Busy(5),\n Gone }\n"
        "#typev Queue_c2319 10 \"%0Timer %10!08d! of %11!-6.2s! %12!p! %!FUNC! %!LEVEL!\\n\" //   "
        "LEVEL=TRACE_LEVEL_INFORMATION FLAGS=DBG_QUEUE FUNC=OnTimer\n{\ncount, ItemLong -- 10\n"
        "name, ItemString -- 11\nArg, ItemPtr -- 12\ns, ItemEnum(_STATE) -- 13\n"
        "l, ItemListLong(A,B=7) -- 14\nb, ItemSetByte(1,2,3) -- 15\nm, ItemMACAddr -- 16\n}\n"
        "#typev Queue_c2320 11 \"%1!s! %2!s! %3!04X! %8!d! %4!s!\" // LEVEL=Noise\n{\n}\n",
        "1#pragma namespace(\"\\\\\\\\.\\\\root\\\\wmi\")\n"
        "[Dynamic, Guid(\"{e91d0f2c-4da1-36b3-f22f-a6f5c11dda43}\"), EventVersion(2)]\n"
        "class Disk_V2 : EventTrace {};\n"
        "[EventType{10, 0x0B}, EventTypeName{\"Read\", \"Write\"}] class T : Disk_V2 {\n"
        "[WmiDataId(1), format(\"x\")] uint8 N; [WmiDataId(2), pointer] uint32 P;\n"
        "[WmiDataId(3), WmiSizeIs(\"N\")] uint16 A[]; [WmiDataId(4), MAX(3)] char16 C[];\n"
        "[WmiDataId(5), StringTermination(\"Counted\"), format(\"w\")] string S;\n"
        "[WmiDataId(6), extension(\"Sid\")] object O;\n"
        "[WmiDataId(7), BitMap{\"0\",\"4\"}, BitValues{\"a\",\"b\"}] uint32 B; };\n"};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof seeds / sizeof *seeds; i++) {
        char path[1000];
        snprintf(path, sizeof path, "%s/text%u", argv[1], (unsigned)i);
        FILE *file = fopen(path, "wb");
        if (file == NULL || fputs(seeds[i], file) < 0 || fclose(file) != 0) {
            return 1;
        }
    }
    return argc == 2 ? 0 : 1;
}
#endif
