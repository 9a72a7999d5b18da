/*
 * event/event.c --
 *
 *	Rarely used data of an event, which is parsed on demand.
 */
#include "event/event.h"
#include "base/bytes.h"

/* Items are chained: u16 room, u16 type, u16 "another follows", u16 size, data, padding to 8. */
enum { ITEM_TYPE = 2, ITEM_LINKED = 4, ITEM_SIZE = 6, ITEM_HEADER = 8 };

bool EtwEventIsHeader(const EtwEvent *event)
{
    static const EtwGuid eventTrace = {{0x00, 0xd9, 0xfd, 0x68, 0x3e, 0x4a, 0xd1, 0x11, 0x84, 0xf4,
            0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3}};
    return event->classic && EtwGuidEqual(&event->provider, &eventTrace);
}

bool EtwEventNamesProcess(const EtwEvent *event)
{
    enum { PROCESS_GROUP = 0x03, LAST_OF_LIFE = 4, DEFUNCT = 39 };
    int type = event->hook & 0xFF;
    return event->classic && event->hook >> 8 == PROCESS_GROUP &&
           ((type >= 1 && type <= LAST_OF_LIFE) || type == DEFUNCT);
}

const uint8_t *EtwEventItem(const EtwEvent *event, unsigned type, uint32_t *sizePtr)
{
    const uint8_t *at = event->extended;
    size_t left = event->extendedSize;
    *sizePtr = 0;
    if (type > 31 || !(event->items >> type & 1)) {
        return NULL;
    }
    while (left >= ITEM_HEADER) {
        uint32_t size = EtwLoad16(at + ITEM_SIZE);
        if (size > left - ITEM_HEADER) {
            break;
        }
        if (EtwLoad16(at + ITEM_TYPE) == type) {
            *sizePtr = size;
            return at + ITEM_HEADER;
        }
        size_t capacity = EtwAlign8(ITEM_HEADER + (size_t)size);
        if (!(EtwLoad16(at + ITEM_LINKED) & 1) || capacity > left) {
            break;
        }
        at += capacity;
        left -= capacity;
    }
    return NULL;
}
