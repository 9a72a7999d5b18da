/*
 * symbol/build_id.c --
 *
 *	Reads build ids (symbol/build_id.h) of 64-bit ELF files: from the notes that the program
 *	headers refer to.
 */
#include "symbol/build_id.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include <stdio.h>

enum {
    NOTES_MAX = 65536,
    HEADERS_MAX = 256,
    ELF_HEADER = 64,
    PROGRAM_HEADER = 56,
    SEGMENT_NOTE = 4,
    NOTE_BUILD_ID = 3
};

static size_t padded(uint32_t size)
{
    return ((size_t)size + 3) & ~(size_t)3;
}

/* Notes: sizes of name and description, type, name, description. */
uint8_t EtwBuildIdInNotes(const uint8_t *notes, size_t size, uint8_t id[ETW_BUILD_ID_MAX])
{
    EtwBytes b = EtwBytesOf(notes, size);
    while (EtwBytesLeft(&b) >= 12) {
        uint32_t nameSize = EtwTake32(&b), idSize = EtwTake32(&b), type = EtwTake32(&b);
        const uint8_t *name = EtwTake(&b, padded(nameSize));
        const uint8_t *bytes = EtwTake(&b, padded(idSize));
        if (b.failed) {
            break;
        }
        if (type == NOTE_BUILD_ID && nameSize == 4 && memcmp(name, "GNU", 4) == 0 && idSize > 0 &&
                idSize <= ETW_BUILD_ID_MAX) {
            memcpy(id, bytes, idSize);
            return (uint8_t)idSize;
        }
    }
    return 0;
}

static bool readAt(FILE *f, uint64_t at, void *to, size_t size)
{
    return at <= INT32_MAX && fseek(f, (long)at, SEEK_SET) == 0 && fread(to, 1, size, f) == size;
}

static uint8_t idInSegment(FILE *f, const uint8_t *header, uint8_t id[ETW_BUILD_ID_MAX])
{
    uint64_t at = EtwLoad64(header + 8), size = EtwLoad64(header + 32);
    uint8_t idSize = 0;
    if (EtwLoad32(header) == SEGMENT_NOTE && size <= NOTES_MAX) {
        uint8_t *notes = EtwAlloc((size_t)size + 1);
        idSize =
                readAt(f, at, notes, (size_t)size) ? EtwBuildIdInNotes(notes, (size_t)size, id) : 0;
        EtwFree(notes);
    }
    return idSize;
}

uint8_t EtwBuildIdOfFile(const char *path, uint8_t id[ETW_BUILD_ID_MAX])
{
    static const uint8_t magic[] = {0x7F, 'E', 'L', 'F', 2 /* 64 bits */, 1 /* little-endian */};
    uint8_t elf[ELF_HEADER], header[PROGRAM_HEADER];
    uint8_t size = 0;
    FILE *f = fopen(path, "rb");
    bool is = f != NULL && readAt(f, 0, elf, sizeof elf) && memcmp(elf, magic, sizeof magic) == 0 &&
              EtwLoad16(elf + 54) == PROGRAM_HEADER;
    unsigned count = is ? EtwLoad16(elf + 56) : 0;
    for (unsigned i = 0; size == 0 && i < count && i < HEADERS_MAX; i++) {
        uint64_t at = EtwLoad64(elf + 32) + (uint64_t)i * PROGRAM_HEADER;
        size = readAt(f, at, header, sizeof header) ? idInSegment(f, header, id) : 0;
    }
    if (f != NULL) {
        fclose(f);
    }
    return size;
}

uint8_t EtwBuildIdOfNotesFile(const char *path, uint8_t id[ETW_BUILD_ID_MAX])
{
    uint8_t notes[4096];
    FILE *f = fopen(path, "rb");
    size_t size = f != NULL ? fread(notes, 1, sizeof notes, f) : 0;
    if (f != NULL) {
        fclose(f);
    }
    return EtwBuildIdInNotes(notes, size, id);
}

void EtwBuildIdText(const uint8_t *id, uint8_t size, char text[ETW_BUILD_ID_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < size; i++) {
        text[2 * i] = digits[id[i] >> 4];
        text[2 * i + 1] = digits[id[i] & 15];
    }
    text[2 * size] = '\0';
}
