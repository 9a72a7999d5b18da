/*
 * etl/write/record_patch.c --
 *
 *	Header fields by kind of record (etl/write/record_patch.h), with the same offsets as in
 *	record.c.
 */
#include "etl/write/record_patch.h"
#include "base/bytes.h"
#include "etl/record.h"

#define BIT(field) (1u << ETL_EDIT_##field)
enum { FULL_HEADER = 0x30, TID_AT = 0x08, PID_AT = 0x0c, PROVIDER_AT = 0x18, ACTIVITY_AT = 0x40 };

static bool has(const EtlEdit *edit, unsigned bit)
{
    return (edit->fields & bit) != 0;
}

static void setThread(const EtlEdit *edit, uint8_t *record)
{
    if (has(edit, BIT(TID))) {
        EtwStore32(record + TID_AT, edit->tid);
    }
    if (has(edit, BIT(PID))) {
        EtwStore32(record + PID_AT, edit->pid);
    }
}

static void setProvider(const EtlEdit *edit, uint8_t *record)
{
    if (has(edit, BIT(PROVIDER))) {
        memcpy(record + PROVIDER_AT, &edit->provider, sizeof edit->provider);
    }
}

static void setByte(const EtlEdit *edit, unsigned bit, uint8_t *at, uint8_t value)
{
    if (has(edit, bit)) {
        *at = value;
    }
}

/* EVENT_DESCRIPTOR. */
static void setDescriptor(const EtlEdit *edit, uint8_t *at)
{
    if (has(edit, BIT(ID))) {
        EtwStore16(at, edit->desc.id);
    }
    setByte(edit, BIT(VERSION), at + 2, edit->desc.version);
    setByte(edit, BIT(CHANNEL), at + 3, edit->desc.channel);
    setByte(edit, BIT(LEVEL), at + 4, edit->desc.level);
    setByte(edit, BIT(OPCODE), at + 5, edit->desc.opcode);
    if (has(edit, BIT(TASK))) {
        EtwStore16(at + 6, edit->desc.task);
    }
    if (has(edit, BIT(KEYWORD))) {
        EtwStore64(at + 8, edit->desc.keyword);
    }
}

static unsigned editEvent(const EtlEdit *edit, uint8_t *record)
{
    setThread(edit, record);
    setProvider(edit, record);
    setDescriptor(edit, record + 0x28);
    if (has(edit, BIT(ACTIVITY))) {
        memcpy(record + ACTIVITY_AT, &edit->activity, sizeof edit->activity);
    }
    return 0;
}

/* EVENT_TRACE_HEADER: classic events have no id, keyword or activity. */
static unsigned editFull(const EtlEdit *edit, uint8_t *record)
{
    setThread(edit, record);
    setProvider(edit, record);
    setByte(edit, BIT(OPCODE), record + 4, edit->desc.opcode);
    setByte(edit, BIT(LEVEL), record + 5, edit->desc.level);
    setByte(edit, BIT(VERSION), record + 6, edit->desc.version);
    return edit->fields & (BIT(ACTIVITY) | BIT(CHANNEL) | BIT(ID) | BIT(KEYWORD) | BIT(TASK));
}

unsigned EtlEditApply(const EtlEdit *edit, uint8_t *record, size_t size)
{
    const unsigned thread = BIT(PID) | BIT(TID);
    unsigned type = size >= 8 && record[3] == ETL_MARK_TYPED ? record[2] : 0;
    switch (type) {
    case ETL_EVENT32:
    case ETL_EVENT64:
        return size >= ETL_EVENT_HEADER ? editEvent(edit, record) : edit->fields;
    case ETL_FULL32:
    case ETL_FULL64:
    case ETL_INSTANCE32:
    case ETL_INSTANCE64:
        return size >= FULL_HEADER ? editFull(edit, record) : edit->fields;
    case ETL_SYSTEM32:
    case ETL_SYSTEM64:
    case ETL_COMPACT32:
    case ETL_COMPACT64:
        if (size >= PROVIDER_AT) {
            setThread(edit, record);
            return edit->fields & ~(thread | BIT(CPU));
        }
        return edit->fields;
    default:
        return edit->fields & ~BIT(CPU);
    }
}
