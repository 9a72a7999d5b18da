/*
 * flow/relog/image_id.c --
 *
 *	Processes and images of the class ImageID (flow/relog/image_id.h).
 */
#include "flow/relog/image_id.h"
#include "base/hash_table.h"

enum { INFO = 0, PATHS = 41, VERSION = 64, SYSTEM_PID = 4 };

/* {b3e675d7-2554-4f18-830b-2762732560de} */
static const EtwGuid imageIdClass = {{0xd7, 0x75, 0xe6, 0xb3, 0x54, 0x25, 0x18, 0x4f, 0x83, 0x0b,
        0x27, 0x62, 0x73, 0x25, 0x60, 0xde}};

/* Images without a time stamp differ by their file's name, up to its NUL. */
static uint64_t imageOf(uint32_t size, uint32_t timestamp, const uint8_t *name, size_t nameBytes)
{
    uint64_t image = (uint64_t)timestamp << 32 | size;
    size_t used = 0;
    while (used + 2 <= nameBytes && EtwLoad16(name + used) != 0) {
        used += 2;
    }
    return timestamp != 0 ? image : EtwHashBytes(image, name, used);
}

static bool parseModule(const EtwEvent *event, bool isInfo, EtwImageId *id)
{
    size_t width = event->pointerSize == 4 ? 4 : 8, pidAt = isInfo ? 2 * width : width;
    size_t size = pidAt + (isInfo ? 8 : 4);
    const uint8_t *p = event->payload;
    if (event->payloadSize < size) {
        return false;
    }
    id->pid = EtwLoad32(p + pidAt);
    id->pid = id->pid == SYSTEM_PID ? 0 : id->pid;
    id->hasImage = isInfo;
    if (isInfo) {
        id->image = imageOf(EtwLoad32(p + width), EtwLoad32(p + pidAt + 4), p + size,
                event->payloadSize - size);
    }
    return true;
}

static bool parseVersion(const EtwEvent *event, EtwImageId *id)
{
    const uint8_t *p = event->payload;
    if (event->payloadSize < 8) {
        return false;
    }
    id->isVersion = id->hasImage = true;
    id->image = imageOf(EtwLoad32(p), EtwLoad32(p + 4), p + 8, event->payloadSize - 8);
    return true;
}

/*
 * VERSION: {size u32, time stamp u32, name}; INFO: {base, size, pid u32, time stamp u32, name};
 * others: {base, pid u32}.
 */
bool EtwImageIdParse(const EtwEvent *event, EtwImageId *id)
{
    *id = (EtwImageId){.pid = ETW_NO_ID};
    if (!event->classic || !EtwGuidEqual(&event->provider, &imageIdClass)) {
        return false;
    }
    switch (event->desc.opcode) {
    case PATHS:
        return true;
    case VERSION:
        return parseVersion(event, id);
    default:
        return parseModule(event, event->desc.opcode == INFO, id);
    }
}
