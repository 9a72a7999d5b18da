/*
 * etl/record.c --
 *
 *	Converts record headers of all kinds to EtwEvent, and EtwEvent to the kinds that we write. Payloads
 *	and the content of extended items are not interpreted. Layouts: evntrace.h and evntcons.h of the
 *	Windows headers.
 */
#include "etl/record.h"

enum { OPAQUE_HEADER = 8, SIZE_AT_0 = 0, SIZE_AT_4 = 32 };

const EtlKind EtlKindTable[ETL_KINDS] = {[ETL_SYSTEM32] = {0x20, SIZE_AT_4, 0x10, 4},
        [ETL_SYSTEM64] = {0x20, SIZE_AT_4, 0x10, 8},
        [ETL_COMPACT32] = {0x18, SIZE_AT_4, 0x10, 4},
        [ETL_COMPACT64] = {0x18, SIZE_AT_4, 0x10, 8},
        [ETL_FULL32] = {0x30, SIZE_AT_0, 0x10, 4},
        [ETL_INSTANCE32] = {0x48, SIZE_AT_0, 0x10, 4},
        [ETL_ERROR] = {0x50, SIZE_AT_0, 0x10, 8},
        [ETL_PERFINFO32] = {0x10, SIZE_AT_4, 0x08, 4},
        [ETL_PERFINFO64] = {0x10, SIZE_AT_4, 0x08, 8},
        [ETL_EVENT32] = {0x50, SIZE_AT_0, 0x10, 4},
        [ETL_EVENT64] = {0x50, SIZE_AT_0, 0x10, 8},
        [ETL_FULL64] = {0x30, SIZE_AT_0, 0x10, 8},
        [ETL_INSTANCE64] = {0x48, SIZE_AT_0, 0x10, 8}};
/* Undocumented kinds: the size is where most kinds have it, the rest is opaque. */
static const EtlKind opaqueKind = {OPAQUE_HEADER, SIZE_AT_0, 0, 8};

/* Options of a WPP message: the fields after its 8-byte header, in this order. */
enum {
    MESSAGE_SEQUENCE = 0x01,
    MESSAGE_GUID = 0x02,
    MESSAGE_COMPONENT = 0x04,
    MESSAGE_TIME = 0x08,
    MESSAGE_PERFORMANCE = 0x10,
    MESSAGE_SYSTEM = 0x20,
    MESSAGE_POINTER32 = 0x40,
    MESSAGE_BUILT = MESSAGE_GUID | MESSAGE_TIME | MESSAGE_SYSTEM /* written by us */
};
typedef struct Message {
    size_t sequenceAt, guidAt, componentAt, timeAt, systemAt; /* 0: absent */
    size_t header;
} Message;

static Message messageLayout(unsigned options)
{
    Message m = {.header = 8};
    if (options & MESSAGE_SEQUENCE) {
        m.sequenceAt = m.header;
        m.header += 4;
    }
    if (options & MESSAGE_GUID) {
        m.guidAt = m.header;
        m.header += 16;
    } else if (options & MESSAGE_COMPONENT) {
        m.componentAt = m.header;
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

/*
 * The frame of a record: its kind and size, checked against the available bytes. Each byte is
 * loaded once, because the file may change.
 */
typedef struct Frame {
    const EtlKind *kind; /* NULL: a WPP message */
    Message message;
    uint64_t word; /* the first 8 bytes */
    uint8_t type;
    uint32_t size;
} Frame;

static inline bool typedFrame(uint64_t word, size_t left, Frame *f)
{
    f->type = (uint8_t)(word >> 16);
    if (f->type == 0 || f->type >= ETL_KINDS) {
        return false;
    }
    f->kind = &EtlKindTable[f->type];
    if (f->kind->header == 0) {
        f->kind = &opaqueKind;
    }
    f->size = word >> f->kind->sizeShift & 0xFFFF;
    return f->size >= f->kind->header && f->size <= left;
}

static bool messageFrame(uint64_t word, size_t left, Frame *f)
{
    f->kind = NULL;
    f->type = ETL_MESSAGE;
    f->size = word & 0xFFFF;
    f->message = messageLayout(word >> 48);
    return f->size >= f->message.header && f->size <= left;
}

static inline bool frameOf(const uint8_t *data, size_t left, Frame *f)
{
    if (left < 8) {
        return false;
    }
    uint64_t word = f->word = EtwLoad64(data);
    switch (word >> 24 & 0xFF) {
    case ETL_MARK_TYPED:
        return typedFrame(word, left, f);
    case ETL_MARK_MESSAGE:
        return (word >> 16 & 0xFF) == 0 && messageFrame(word, left, f);
    default:
        return false;
    }
}

bool EtlRecordPeekAny(
        const uint8_t *data, size_t left, int64_t *ticksPtr, size_t *sizePtr, size_t *timeAtPtr)
{
    Frame f;
    if (!frameOf(data, left, &f)) {
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

static void takeStack(EtwEvent *event, const uint8_t *data, uint32_t size, uint8_t width)
{
    if (size >= 8 && (width == event->pointerSize || event->stack == NULL)) {
        event->stackWidth = width;
        event->stackMatch = EtwLoad64(data);
        event->stack = data + 8;
        event->stackCount = (size - 8) / width;
    }
}

static void takeStackKey(EtwEvent *event, const uint8_t *data, uint32_t size, uint8_t width)
{
    if (size >= 8u + width) {
        event->stackMatch = EtwLoad64(data);
        event->stackKey = width == 4 ? EtwLoad32(data + 8) : EtwLoad64(data + 8);
    }
}

static void takeItem(EtwEvent *event, unsigned type, const uint8_t *data, uint32_t size)
{
    event->items |= type < 32 ? 1u << type : 0;
    switch (type) {
    case ETL_ITEM_RELATED_ACTIVITY:
        if (size >= 16) {
            event->related = data;
        }
        break;
    case ETL_ITEM_STACK32:
        takeStack(event, data, size, 4);
        break;
    case ETL_ITEM_STACK64:
        takeStack(event, data, size, 8);
        break;
    case ETL_ITEM_STACK_KEY32:
        takeStackKey(event, data, size, 4);
        break;
    case ETL_ITEM_STACK_KEY64:
        takeStackKey(event, data, size, 8);
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
        break; /* only in `extended` */
    }
}

/*
 * Parse the chain of extended items at the start of `data`; returns its length. After a broken
 * chain the start of the payload is unknown, so the rest of the record becomes "extended".
 */
static size_t takeItems(EtwEvent *event, const uint8_t *data, size_t size)
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
        takeItem(event, EtwLoad16(data + at + 2), data + at + 8, length);
        size_t capacity = EtwAlign8(8 + (size_t)length);
        at += capacity < size - at ? capacity : size - at;
    }
    return at;
}

/*
 * memset in pieces that compilers convert to plain stores. For the whole size they use a string
 * instruction, which starts slowly.
 */
static inline void zero(void *to, size_t size)
{
    uint8_t *at = to, *end = at + size;
    for (; (size_t)(end - at) >= 64; at += 64) {
        memset(at, 0, 64);
        __asm__ volatile("" ::: "memory");
    }
    memset(end - 64, 0, 64);
}

/* Initialize all members, except those that every kind sets. */
static inline void blank(EtwEvent *event, const uint8_t *data, const Frame *f)
{
    zero(&event->ticks, sizeof *event - offsetof(EtwEvent, ticks));
    event->kind = f->type;
    event->record = data;
    event->recordSize = f->size;
    event->pid = event->tid = ETW_NO_ID;
    if (f->kind != NULL) {
        event->pointerSize = f->kind->pointer;
        event->payload = data + f->kind->header;
        event->payloadSize = f->size - f->kind->header;
        event->ticks =
                f->kind->timeAt != 0 ? (int64_t)EtwLoad64(data + f->kind->timeAt) : ETL_NO_TICKS;
    }
}

/*
 * Parse an EVENT_HEADER; clears members that the header does not set. The record's words are loaded
 * once.
 */
static void parseEvent(EtwEvent *event, const uint8_t *data, uint64_t word)
{
    _Static_assert(sizeof event->desc == 16, "EVENT_DESCRIPTOR");
    uint8_t type = (uint8_t)(word >> 16);
    zero(&event->related, sizeof *event - offsetof(EtwEvent, related));
    event->ticks = (int64_t)EtwLoad64(data + 0x10);
    memcpy(&event->provider, data + 0x18, sizeof event->provider);
    memcpy(&event->desc, data + 0x28, sizeof event->desc);
    event->tid = EtwLoad32(data + 0x08);
    event->pid = EtwLoad32(data + 0x0c);
    event->hook = 0;
    event->kind = type;
    event->pointerSize = EtlKindTable[type].pointer;
    event->flags = (uint16_t)(word >> 32);
    event->property = (uint16_t)(word >> 48);
    event->late = event->classic = false;
    event->kernelTime = EtwLoad32(data + 0x38);
    event->userTime = EtwLoad32(data + 0x3c);
    memcpy(&event->activity, data + 0x40, sizeof event->activity);
    event->record = data;
    event->recordSize = word & 0xFFFF;
    event->payload = data + ETL_EVENT_HEADER;
    event->payloadSize = event->recordSize - ETL_EVENT_HEADER;
    if (event->flags & ETL_EVENT_FLAG_EXTENDED && type != ETL_ERROR) {
        size_t length = takeItems(event, event->payload, event->payloadSize);
        event->extended = event->payload;
        event->extendedSize = (uint32_t)length;
        event->payload += length;
        event->payloadSize -= (uint32_t)length;
    }
}

/* The size of the counters between header and payload, according to the version word. */
static uint32_t counterBytes(unsigned version)
{
    return 8 * ((version >> 8 & 7) + (version >> 15));
}

/*
 * System, compact and PerfInfo headers: the hook determines the class; the version word may
 * announce counters.
 */
static void parseKernel(EtwEvent *event, const uint8_t *data)
{
    unsigned version = EtwLoad16(data);
    uint32_t counters = counterBytes(version);
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
    if (counters != 0 && counters <= event->payloadSize) {
        event->payload += counters;
        event->payloadSize -= counters;
    }
}

/* EVENT_TRACE_HEADER and its instance form, whose further fields EtlRecordInstance returns. */
static void parseFull(EtwEvent *event, const uint8_t *data)
{
    event->classic = true;
    event->desc.opcode = data[4];
    event->desc.level = data[5];
    event->desc.version = data[6]; /* of 16 bits, as Windows does */
    event->tid = EtwLoad32(data + 0x08);
    event->pid = EtwLoad32(data + 0x0c);
    memcpy(&event->provider, data + 0x18, sizeof event->provider);
    event->kernelTime = EtwLoad32(data + 0x28);
    event->userTime = EtwLoad32(data + 0x2c);
}

static void parseMessage(EtwEvent *event, const uint8_t *data, const Frame *f)
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
    if (!frameOf(data, left, &f)) {
        return false;
    }
    *sizePtr = EtwAlign8(f.size);
    if (f.type == ETL_EVENT64 || f.type == ETL_EVENT32 || f.type == ETL_ERROR) {
        parseEvent(event, data, f.word);
        return true;
    }
    blank(event, data, &f);
    switch (f.type) {
    case ETL_SYSTEM32:
    case ETL_SYSTEM64:
    case ETL_COMPACT32:
    case ETL_COMPACT64:
    case ETL_PERFINFO32:
    case ETL_PERFINFO64:
        parseKernel(event, data);
        break;
    case ETL_FULL32:
    case ETL_FULL64:
    case ETL_INSTANCE32:
    case ETL_INSTANCE64:
        parseFull(event, data);
        break;
    case ETL_MESSAGE:
        parseMessage(event, data, &f);
        break;
    default: /* unknown: the whole record */
        event->payload = data;
        event->payloadSize = f.size;
        break;
    }
    return true;
}

bool EtlRecordInstance(const EtwEvent *event, EtlInstance *instance)
{
    uint32_t size;
    const uint8_t *at = EtwEventItem(event, ETL_ITEM_INSTANCE, &size);
    if (event->record != NULL && (event->kind == ETL_INSTANCE32 || event->kind == ETL_INSTANCE64)) {
        at = event->record + 0x30;
        size = 24;
    }
    if (at == NULL || size < 24) {
        return false;
    }
    instance->id = EtwLoad32(at);
    instance->parentId = EtwLoad32(at + 4);
    memcpy(&instance->parentClass, at + 8, sizeof instance->parentClass);
    return true;
}

bool EtlRecordMessage(const EtwEvent *event, EtlMessage *message)
{
    if (event->record == NULL || event->kind != ETL_MESSAGE) {
        return false;
    }
    const uint8_t *data = event->record;
    message->options = EtwLoad16(data + 6);
    Message m = messageLayout(message->options);
    if (m.header > event->recordSize) { /* the file was changed meanwhile */
        return false;
    }
    message->sequence = m.sequenceAt != 0 ? EtwLoad32(data + m.sequenceAt) : 0;
    message->component = m.componentAt != 0 ? EtwLoad32(data + m.componentAt) : 0;
    message->hasTime = m.timeAt != 0;
    message->performance = (message->options & MESSAGE_PERFORMANCE) != 0;
    return true;
}

static bool isKernel(unsigned kind)
{
    return (kind >= ETL_SYSTEM32 && kind <= ETL_COMPACT64) || kind == ETL_PERFINFO32 ||
           kind == ETL_PERFINFO64;
}

const uint8_t *EtlRecordCounters(const EtwEvent *event, uint32_t *countPtr, const uint8_t **pebsPtr)
{
    uint32_t size, pebsSize;
    const uint8_t *at = EtwEventItem(event, ETL_ITEM_PMC_COUNTERS, &size);
    *pebsPtr = EtwEventItem(event, ETL_ITEM_PEBS_INDEX, &pebsSize);
    if (pebsSize < 8) {
        *pebsPtr = NULL;
    }
    if (event->record != NULL && isKernel(event->kind)) {
        at = event->record + EtlKindTable[event->kind].header;
        size = (uint32_t)(event->payload - at);
        if (size != 0 && EtwLoad16(event->record) >> 15) {
            *pebsPtr = at;
            at += 8;
            size -= 8;
        }
    }
    *countPtr = at != NULL ? size / 8 : 0;
    return *countPtr != 0 ? at : NULL;
}

static size_t itemCapacity(size_t size)
{
    return EtwAlign8(8 + size);
}

static size_t stackBytes(const EtwEvent *event)
{
    return 8 + (size_t)event->stackCount * EtwEventStackWidth(event);
}

/* The offset of the payload in the record to be built. */
static size_t payloadStart(const EtwEvent *event)
{
    size_t size = ETL_EVENT_HEADER;
    if (event->kind == ETL_MESSAGE) {
        return messageLayout(MESSAGE_BUILT).header;
    }
    if (event->classic) {
        return EtlKindTable[ETL_FULL64].header;
    }
    size += event->related != NULL ? itemCapacity(16) : 0;
    size += event->stack != NULL ? itemCapacity(stackBytes(event)) : 0;
    size += event->traits != NULL ? itemCapacity(event->traitsSize) : 0;
    size += event->meta != NULL ? itemCapacity(event->metaSize) : 0;
    return size;
}

size_t EtlRecordSize(const EtwEvent *event)
{
    size_t size = payloadStart(event) + event->payloadSize;
    return size <= ETL_MAX_RECORD ? EtwAlign8(size) : 0;
}

/* Store an item; `prefix` zero bytes precede the data (the match id of a stack). */
static uint8_t *putItem(uint8_t *out, unsigned type, const void *data, size_t size, size_t prefix)
{
    size_t capacity = itemCapacity(prefix + size);
    EtwStore64(out + capacity - 8, 0); /* padding */
    EtwStore16(out, (uint16_t)capacity);
    EtwStore16(out + 2, (uint16_t)type);
    EtwStore16(out + 4, 1); /* another item follows; cleared in the last one */
    EtwStore16(out + 6, (uint16_t)(prefix + size));
    memset(out + 8, 0, prefix);
    memcpy(out + 8 + prefix, data, size);
    return out + capacity;
}

static void putItems(const EtwEvent *event, uint8_t *out)
{
    uint8_t *last = NULL;
    if (event->related != NULL) {
        last = out;
        out = putItem(out, ETL_ITEM_RELATED_ACTIVITY, event->related, 16, 0);
    }
    if (event->stack != NULL) {
        unsigned type = EtwEventStackWidth(event) == 4 ? ETL_ITEM_STACK32 : ETL_ITEM_STACK64;
        last = out;
        out = putItem(out, type, event->stack, stackBytes(event) - 8, 8);
    }
    if (event->traits != NULL) {
        last = out;
        out = putItem(out, ETL_ITEM_PROV_TRAITS, event->traits, event->traitsSize, 0);
    }
    if (event->meta != NULL) {
        last = out;
        putItem(out, ETL_ITEM_SCHEMA_TL, event->meta, event->metaSize, 0);
    }
    if (last != NULL) {
        EtwStore16(last + 4, 0);
    }
}

/* Build an EVENT_TRACE_HEADER, as parseFull reads it. */
static void buildFull(const EtwEvent *event, uint8_t *out)
{
    out[2] = event->pointerSize == 4 ? ETL_FULL32 : ETL_FULL64;
    out[3] = ETL_MARK_TYPED;
    out[4] = event->desc.opcode;
    out[5] = event->desc.level;
    EtwStore16(out + 0x06, event->desc.version);
    EtwStore32(out + 0x08, event->tid);
    EtwStore32(out + 0x0c, event->pid);
    EtwStore64(out + 0x10, (uint64_t)event->ticks);
    memcpy(out + 0x18, &event->provider, 16);
    EtwStore32(out + 0x28, event->kernelTime);
    EtwStore32(out + 0x2c, event->userTime);
}

static void buildMessage(const EtwEvent *event, uint8_t *out)
{
    Message m = messageLayout(MESSAGE_BUILT);
    out[2] = 0;
    out[3] = ETL_MARK_MESSAGE;
    EtwStore16(out + 4, event->desc.id);
    EtwStore16(out + 6, MESSAGE_BUILT | (event->pointerSize == 4 ? MESSAGE_POINTER32 : 0));
    memcpy(out + m.guidAt, &event->provider, 16);
    EtwStore64(out + m.timeAt, (uint64_t)event->ticks);
    EtwStore32(out + m.systemAt, event->tid);
    EtwStore32(out + m.systemAt + 4, event->pid);
}

static void buildEvent(const EtwEvent *event, uint8_t *out, size_t payloadAt)
{
    uint16_t flags = event->flags & (uint16_t)~ETL_EVENT_FLAG_EXTENDED;
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
    putItems(event, out + ETL_EVENT_HEADER);
}

void EtlRecordBuild(const EtwEvent *event, uint8_t *out, size_t size)
{
    size_t payloadAt = payloadStart(event);
    EtwStore64(out + size - 8, 0); /* padding */
    EtwStore16(out, (uint16_t)(payloadAt + event->payloadSize));
    if (event->kind == ETL_MESSAGE) {
        buildMessage(event, out);
    } else if (event->classic) {
        buildFull(event, out);
    } else {
        buildEvent(event, out, payloadAt);
    }
    if (event->payloadSize != 0) {
        memcpy(out + payloadAt, event->payload, event->payloadSize);
    }
}
