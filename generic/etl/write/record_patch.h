/*
 * etl/write/record_patch.h --
 *
 *	Fields of a record's header that are overwritten while it is copied. Payload and extended items
 *	stay as they are.
 */
#ifndef ETW_RECORD_PATCH_H
#define ETW_RECORD_PATCH_H

#include "event/event.h"

/* Order of the names in tcl/relog/relog_cmd.c. */
typedef enum EtlEditField {
    ETL_EDIT_ACTIVITY,
    ETL_EDIT_CHANNEL,
    ETL_EDIT_CPU,
    ETL_EDIT_ID,
    ETL_EDIT_KEYWORD,
    ETL_EDIT_LEVEL,
    ETL_EDIT_OPCODE,
    ETL_EDIT_PID,
    ETL_EDIT_PROVIDER,
    ETL_EDIT_TASK,
    ETL_EDIT_TID,
    ETL_EDIT_VERSION
} EtlEditField;

typedef struct EtlEdit {
    unsigned fields; /* bit n: EtlEditField n is set */
    EtwGuid provider, activity;
    EtwDescriptor desc;
    uint32_t pid, tid;
    uint16_t cpu; /* of the buffer: not in the record */
} EtlEdit;

/*
 * Result: bits of those fields that a record of its kind has no place for; the others are set. CPU is
 * the caller's to set, and counts as set.
 */
unsigned EtlEditApply(const EtlEdit *edit, uint8_t *record, size_t size);

#endif
