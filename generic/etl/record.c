/*
 * etl/record.c --
 *
 *	Record headers of all kinds into EtwEvent, and EtwEvent into the one kind that we
 *	write. Payloads and the content of extended items stay untouched. Layouts:
 *	doc/internals/etl-format.
 */
#include "etl/record.h"

typedef struct Kind {
    uint8_t header; /* bytes before the payload */
    uint8_t sizeAt; /* where the u16 size is */
    uint8_t timeAt; /* where the time is, 0: none */
    uint8_t pointer;
} Kind;

enum { KINDS = 32, OPAQUE_HEADER = 8 };

static const Kind kinds[KINDS] = {[ETL_SYSTEM32] = {0x20, 4, 0x10, 4},
        [ETL_SYSTEM64] = {0x20, 4, 0x10, 8},
        [ETL_COMPACT32] = {0x18, 4, 0x10, 4},
        [ETL_COMPACT64] = {0x18, 4, 0x10, 8},
        [ETL_FULL32] = {0x30, 0, 0x10, 4},
        [ETL_INSTANCE32] = {0x48, 0, 0x10, 4},
        [ETL_ERROR] = {0x50, 0, 0x10, 8},
        [ETL_PERFINFO32] = {0x10, 4, 0x08, 4},
        [ETL_PERFINFO64] = {0x10, 4, 0x08, 8},
        [ETL_EVENT32] = {0x50, 0, 0x10, 4},
        [ETL_EVENT64] = {0x50, 0, 0x10, 8},
        [ETL_FULL64] = {0x30, 0, 0x10, 8},
        [ETL_INSTANCE64] = {0x48, 0, 0x10, 8}};
/* Kinds that nobody described: their size is where most kinds have it, the rest is opaque. */
static const Kind opaqueKind = {OPAQUE_HEADER, 0, 0, 8};

/* Options of a WPP message: which fields follow its 8-byte header, in this order. */
enum {
    MESSAGE_SEQUENCE = 0x01,
    MESSAGE_GUID = 0x02,
    MESSAGE_COMPONENT = 0x04,
    MESSAGE_TIME = 0x08,
    MESSAGE_SYSTEM = 0x20,
    MESSAGE_POINTER32 = 0x40
};
typedef struct Message {
    size_t guidAt, timeAt, systemAt; /* 0: absent */
    size_t header;
} Message;

static Message MessageLayout(unsigned options)
{
    Message m = {0, 0, 0, 8};
    if (options & MESSAGE_SEQUENCE) {
        m.header += 4;
    }
    if (options & MESSAGE_GUID) {
        m.guidAt = m.header;
        m.header += 16;
    } else if (options & MESSAGE_COMPONENT) {
        m.header += 4;
    }
    if (options & MESSAGE_TIME) {
        m.timeAt = m.header;
        m.header += 8;
    }
    if (options & MESSAGE_SYSTEM) {
        m.systemAt = m.header;
        m.header += 8;
    }
    return m;
}

/* What frames a record: its kind and size, checked against left. Loads each byte once (the file may
 * change). */
typedef struct Frame {
    const Kind *kind; /* NULL: a WPP message */
    Message message;
    uint8_t type;
    uint32_t size;
} Frame;

static bool TypedFrame(const uint8_t *data, size_t left, uint32_t word, Frame *f)
{
    f->type = (uint8_t)(word >> 16);
    if (f->type == 0 || f->type >= KINDS) {
        return false;
    }
    f->kind = kinds[f->type].header != 0 ? &kinds[f->type] : &opaqueKind;
    f->size = f->kind->sizeAt != 0 ? EtwLoad16(data + f->kind->sizeAt) : word & 0xFFFF;
    return f->size >= f->kind->header && f->size <= left;
}

static bool MessageFrame(const uint8_t *data, size_t left, uint32_t word, Frame *f)
{
    f->kind = NULL;
    f->type = ETL_MESSAGE;
    f->size = word & 0xFFFF;
    f->message = MessageLayout(EtwLoad16(data + 6));
    return f->size >= f->message.header && f->size <= left;
}

static inline bool FrameOf(const uint8_t *data, size_t left, Frame *f)
{
    if (left < 8) {
        return false;
    }
    uint32_t word = EtwLoad32(data);
    switch (word >> 24) {
    case ETL_MARK_TYPED:
        return TypedFrame(data, left, word, f);
    case ETL_MARK_MESSAGE:
        return (word >> 16 & 0xFF) == 0 && MessageFrame(data, left, word, f);
    default:
        return false;
    }
}

bool EtlRecordPeekAny(
        const uint8_t *data, size_t left, int64_t *ticksPtr, size_t *sizePtr, size_t *timeAtPtr)
{
    Frame f;
    if (!FrameOf(data, left, &f)) {
        return false;
    }
    size_t timeAt = f.kind != NULL ? f.kind->timeAt : f.message.timeAt;
    *ticksPtr = timeAt != 0 ? (int64_t)EtwLoad64(data + timeAt) : ETL_NO_TICKS;
    *sizePtr = EtwAlign8(f.size);
    if (timeAtPtr != NULL) {
        *timeAtPtr = timeAt;
    }
    return true;
}

/* The stack of an item; the first 8 bytes tell where its other half may be found, which nothing
 * here needs. */
static void TakeStack(EtwEvent *event, const uint8_t *data, uint32_t size, uint8_t width)
{
    if (width == event->pointerSize && size >= 8) {
        event->stack = data + 8;
        event->stackCount = (size - 8) / width;
    }
}

static void TakeItem(EtwEvent *event, unsigned type, const uint8_t *data, uint32_t size)
{
    switch (type) {
    case ETL_ITEM_RELATED_ACTIVITY:
        if (size >= 16) {
            event->related = data;
        }
        break;
    case ETL_ITEM_STACK32:
        TakeStack(event, data, size, 4);
        break;
    case ETL_ITEM_STACK64:
        TakeStack(event, data, size, 8);
        break;
    case ETL_ITEM_SCHEMA_TL:
        event->meta = data;
        event->metaSize = size;
        break;
    case ETL_ITEM_PROV_TRAITS:
        event->traits = data;
        event->traitsSize = size;
        break;
    default:
        break; /* stays in `extended` */
    }
}

/*
 * The chain of extended items at the start of `data`; result: its length. A broken chain makes all
 * the rest of the record "extended": where its payload begins is not knowable then.
 */
static size_t TakeItems(EtwEvent *event, const uint8_t *data, size_t size)
{
    size_t at = 0;
    bool more = true;
    while (more) {
        if (size - at < 8) {
            return size;
        }
        uint32_t length = EtwLoad16(data + at + 6);
        if (length > size - at - 8) {
            return size;
        }
        more = EtwLoad16(data + at + 4) & 1;
        TakeItem(event, EtwLoad16(data + at + 2), data + at + 8, length);
        size_t room = EtwAlign8(8 + (size_t)length);
        at += room < size - at ? room : size - at;
    }
    return at;
}

/* Nothing but the parts that every kind sets anyway is left to the callers. */
static inline void Blank(EtwEvent *event, const uint8_t *data, const Frame *f)
{
    memset(&event->ticks, 0, sizeof *event - offsetof(EtwEvent, ticks));
    event->kind = f->type;
    event->pid = event->tid = ETW_NO_ID;
    if (f->kind != NULL) {
        event->pointerSize = f->kind->pointer;
        event->payload = data + f->kind->header;
        event->payloadSize = f->size - f->kind->header;
        event->ticks =
                f->kind->timeAt != 0 ? (int64_t)EtwLoad64(data + f->kind->timeAt) : ETL_NO_TICKS;
    }
}

static void ParseEvent(EtwEvent *event, const uint8_t *data)
{
    event->flags = EtwLoad16(data + 0x04);
    event->tid = EtwLoad32(data + 0x08);
    event->pid = EtwLoad32(data + 0x0c);
    memcpy(&event->provider, data + 0x18, sizeof event->provider);
    event->desc.id = EtwLoad16(data + 0x28);
    event->desc.version = data[0x2a];
    event->desc.channel = data[0x2b];
    event->desc.level = data[0x2c];
    event->desc.opcode = data[0x2d];
    event->desc.task = EtwLoad16(data + 0x2e);
    event->desc.keyword = EtwLoad64(data + 0x30);
    event->kernelTime = EtwLoad32(data + 0x38);
    event->userTime = EtwLoad32(data + 0x3c);
    memcpy(&event->activity, data + 0x40, sizeof event->activity);
    if (event->flags & ETL_EVENT_FLAG_EXTENDED && event->kind != ETL_ERROR) {
        size_t length = TakeItems(event, event->payload, event->payloadSize);
        event->extended = event->payload;
        event->extendedSize = (uint32_t)length;
        event->payload += length;
        event->payloadSize -= (uint32_t)length;
    }
}

/* System, compact and PerfInfo headers: the hook names the class, the version word may announce
 * counters. */
static void ParseKernel(EtwEvent *event, const uint8_t *data)
{
    unsigned version = EtwLoad16(data);
    uint32_t counters = 8 * ((version >> 8 & 7) + (version >> 15));
    event->classic = true;
    event->hook = (uint16_t)(data[7] << 8 | data[6]);
    event->provider = *EtlGroupGuid(event->hook);
    event->desc.version = (uint8_t)version;
    event->desc.opcode = data[6];
    if (event->kind != ETL_PERFINFO32 && event->kind != ETL_PERFINFO64) {
        event->tid = EtwLoad32(data + 0x08);
        event->pid = EtwLoad32(data + 0x0c);
    }
    if (event->kind == ETL_SYSTEM32 || event->kind == ETL_SYSTEM64) {
        event->kernelTime = EtwLoad32(data + 0x18);
        event->userTime = EtwLoad32(data + 0x1c);
    }
    if (counters <= event->payloadSize) {
        event->payload += counters;
        event->payloadSize -= counters;
    }
}

/* EVENT_TRACE_HEADER and its instance form, whose three further fields have no place in an
 * EtwEvent. */
static void ParseFull(EtwEvent *event, const uint8_t *data)
{
    event->classic = true;
    event->desc.opcode = data[4];
    event->desc.level = data[5];
    event->desc.version = data[6]; /* of 16 bits: as Windows presents it */
    event->tid = EtwLoad32(data + 0x08);
    event->pid = EtwLoad32(data + 0x0c);
    memcpy(&event->provider, data + 0x18, sizeof event->provider);
    event->kernelTime = EtwLoad32(data + 0x28);
    event->userTime = EtwLoad32(data + 0x2c);
}

static void ParseMessage(EtwEvent *event, const uint8_t *data, const Frame *f)
{
    const Message *m = &f->message;
    event->desc.id = EtwLoad16(data + 4);
    event->pointerSize = EtwLoad16(data + 6) & MESSAGE_POINTER32 ? 4 : 8;
    event->ticks = m->timeAt != 0 ? (int64_t)EtwLoad64(data + m->timeAt) : ETL_NO_TICKS;
    if (m->guidAt != 0) {
        memcpy(&event->provider, data + m->guidAt, sizeof event->provider);
    }
    if (m->systemAt != 0) {
        event->tid = EtwLoad32(data + m->systemAt);
        event->pid = EtwLoad32(data + m->systemAt + 4);
    }
    event->payload = data + m->header;
    event->payloadSize = f->size - (uint32_t)m->header;
}

bool EtlRecordParse(const uint8_t *data, size_t left, EtwEvent *event, size_t *sizePtr)
{
    Frame f;
    if (!FrameOf(data, left, &f)) {
        return false;
    }
    *sizePtr = EtwAlign8(f.size);
    Blank(event, data, &f);
    switch (f.type) {
    case ETL_EVENT64:
    case ETL_EVENT32:
    case ETL_ERROR:
        ParseEvent(event, data);
        break;
    case ETL_SYSTEM32:
    case ETL_SYSTEM64:
    case ETL_COMPACT32:
    case ETL_COMPACT64:
    case ETL_PERFINFO32:
    case ETL_PERFINFO64:
        ParseKernel(event, data);
        break;
    case ETL_FULL32:
    case ETL_FULL64:
    case ETL_INSTANCE32:
    case ETL_INSTANCE64:
        ParseFull(event, data);
        break;
    case ETL_MESSAGE:
        ParseMessage(event, data, &f);
        break;
    default: /* unknown: the record whole, as it is */
        event->payload = data;
        event->payloadSize = f.size;
        break;
    }
    return true;
}

static size_t ItemRoom(size_t size)
{
    return EtwAlign8(8 + size);
}

static size_t StackBytes(const EtwEvent *event)
{
    return 8 + (size_t)event->stackCount * (event->pointerSize == 4 ? 4 : 8);
}

/* Where the payload of the record to be built begins. */
static size_t PayloadAt(const EtwEvent *event)
{
    size_t size = ETL_EVENT_HEADER;
    size += event->related != NULL ? ItemRoom(16) : 0;
    size += event->stack != NULL ? ItemRoom(StackBytes(event)) : 0;
    size += event->traits != NULL ? ItemRoom(event->traitsSize) : 0;
    size += event->meta != NULL ? ItemRoom(event->metaSize) : 0;
    return size;
}

size_t EtlRecordSize(const EtwEvent *event)
{
    size_t size = PayloadAt(event) + event->payloadSize;
    return size <= ETL_MAX_RECORD ? EtwAlign8(size) : 0;
}

/* One item; `prefix` zero bytes stand before the data (the match id of a stack). */
static uint8_t *PutItem(uint8_t *out, unsigned type, const void *data, size_t size, size_t prefix)
{
    size_t room = ItemRoom(prefix + size);
    EtwStore64(out + room - 8, 0); /* padding */
    EtwStore16(out, (uint16_t)room);
    EtwStore16(out + 2, (uint16_t)type);
    EtwStore16(out + 4, 1); /* another item follows: undone for the last one */
    EtwStore16(out + 6, (uint16_t)(prefix + size));
    memset(out + 8, 0, prefix);
    memcpy(out + 8 + prefix, data, size);
    return out + room;
}

static void PutItems(const EtwEvent *event, uint8_t *out)
{
    uint8_t *last = NULL;
    if (event->related != NULL) {
        last = out;
        out = PutItem(out, ETL_ITEM_RELATED_ACTIVITY, event->related, 16, 0);
    }
    if (event->stack != NULL) {
        unsigned type = event->pointerSize == 4 ? ETL_ITEM_STACK32 : ETL_ITEM_STACK64;
        last = out;
        out = PutItem(out, type, event->stack, StackBytes(event) - 8, 8);
    }
    if (event->traits != NULL) {
        last = out;
        out = PutItem(out, ETL_ITEM_PROV_TRAITS, event->traits, event->traitsSize, 0);
    }
    if (event->meta != NULL) {
        last = out;
        PutItem(out, ETL_ITEM_SCHEMA_TL, event->meta, event->metaSize, 0);
    }
    if (last != NULL) {
        EtwStore16(last + 4, 0);
    }
}

void EtlRecordBuild(const EtwEvent *event, uint8_t *out, size_t size)
{
    size_t payloadAt = PayloadAt(event);
    uint16_t flags = event->flags & (uint16_t)~ETL_EVENT_FLAG_EXTENDED;
    EtwStore64(out + size - 8, 0); /* padding */
    EtwStore16(out, (uint16_t)(payloadAt + event->payloadSize));
    out[2] = event->pointerSize == 4 ? ETL_EVENT32 : ETL_EVENT64;
    out[3] = ETL_MARK_TYPED;
    EtwStore16(out + 0x04, payloadAt > ETL_EVENT_HEADER ? flags | ETL_EVENT_FLAG_EXTENDED : flags);
    EtwStore16(out + 0x06, 0);
    EtwStore32(out + 0x08, event->tid);
    EtwStore32(out + 0x0c, event->pid);
    EtwStore64(out + 0x10, (uint64_t)event->ticks);
    memcpy(out + 0x18, &event->provider, 16);
    EtwStore16(out + 0x28, event->desc.id);
    out[0x2a] = event->desc.version;
    out[0x2b] = event->desc.channel;
    out[0x2c] = event->desc.level;
    out[0x2d] = event->desc.opcode;
    EtwStore16(out + 0x2e, event->desc.task);
    EtwStore64(out + 0x30, event->desc.keyword);
    EtwStore32(out + 0x38, event->kernelTime);
    EtwStore32(out + 0x3c, event->userTime);
    memcpy(out + 0x40, &event->activity, 16);
    PutItems(event, out + ETL_EVENT_HEADER);
    if (event->payloadSize != 0) {
        memcpy(out + payloadAt, event->payload, event->payloadSize);
    }
}
