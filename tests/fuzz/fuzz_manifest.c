/*
 * tests/fuzz/fuzz_manifest.c --
 *
 *	Manifests as somebody may have made them, read as a user's file and as a trace's; the events
 *	that come out are decoded and put into their messages, with the text itself as payload. What is
 *	looked for are the sanitizers' reports, and time or memory out of proportion to the input.
 *
 *	Seeds: *.man
 */
#include "schema/model/decode.h"
#include "schema/manifest/manifest.h"
#include "schema/store/event_message.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct Input {
    const uint8_t *data;
    size_t size;
} Input;

static void addValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    EtwFormatValue(ctx, field, value);
}

static void useEvent(const EtwSchema *schema, const Input *input)
{
    static const EtwVisitor visitor = {.value = addValue};
    EtwText out = {0};
    EtwEvent event = {.payload = input->data,
            .payloadSize = (uint32_t)(input->size < 500 ? input->size : 500),
            .pointerSize = 8};
    EtwDecode(schema, &event, &visitor, &out);
    EtwFormatMessage(&out, schema, &event);
    EtwTextFree(&out);
}

static void useDef(void *ctx, EtwProviderDef *def)
{
    const Input *input = ctx;
    if (def->bytes > ((size_t)8 << 20) + 64 * input->size + (1 << 20)) {
        fprintf(stderr, "%zu bytes out of %zu\n", def->bytes, input->size);
        abort();
    }
    for (int i = 0; i < def->eventCount && i < 20; i++) {
        useEvent(&def->events[i]->schema, input);
    }
    EtwDefFree(def);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input = {data, size};
    EtwError err;
    EtwManifestReadFile("fuzz.man", data, size, useDef, &input, &err);
    EtwManifestReadInband("", data, size, ETW_ORIGIN_STREAM, useDef, &input);
    return 0;
}

#ifdef FUZZ_SEEDS
#define PARTS                                                                                      \
    "<keywords><keyword name=\"K\" mask=\"0x2\"/></keywords><tasks><task name=\"T\" value=\"3\">"  \
    "<opcodes><opcode name=\"O\" value=\"11\"/></opcodes></task></tasks><channels><channel "       \
    "name=\"C\" chid=\"c\" value=\"17\"/><importChannel name=\"System\" chid=\"s\"/></channels>"   \
    "<maps><valueMap name=\"V\"><map value=\"1\" message=\"$(string.a)\"/></valueMap><bitMap "     \
    "name=\"B\"><map value=\"4\" message=\"$(string.b)\"/></bitMap></maps><templates><template "   \
    "tid=\"t\"><data name=\"n\" inType=\"win:UInt8\" map=\"V\"/><data name=\"x\" "                 \
    "inType=\"win:UInt32\" map=\"B\" outType=\"win:HexInt32\"/><data name=\"s\" "                  \
    "inType=\"win:UnicodeString\" length=\"n\"/><struct name=\"S\" count=\"n\"><data name=\"b\" "  \
    "inType=\"win:Binary\" length=\"2\"/><data name=\"c\" inType=\"win:AnsiString\"/></struct>"    \
    "</template></templates><events><event value=\"7\" version=\"1\" task=\"T\" opcode=\"O\" "     \
    "level=\"win:Error\" keywords=\"K win:SQM\" channel=\"c\" template=\"t\" symbol=\"Y\" "        \
    "message=\"$(string.m)\"/></events>"

int main(int argc, char **argv)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/whole.man", argc == 2 ? argv[1] : ".");
    FILE *file = argc == 2 ? fopen(path, "wb") : NULL;
    if (file == NULL) {
        return 2;
    }
    fputs("<i><instrumentation><events><provider name=\"P\" "
          "guid=\"{01020304-0506-0708-090a-0b0c0d0e0f10}\">" PARTS
          "</provider></events></instrumentation><localization><resources culture=\"en-US\">"
          "<stringTable><string id=\"a\" value=\"A\"/><string id=\"b\" value=\"B\"/><string "
          "id=\"m\" value=\"%1 %2!08x! %3!5s! {0} %4%n%%\"/></stringTable></resources>"
          "</localization></i>",
            file);
    return fclose(file);
}
#endif
