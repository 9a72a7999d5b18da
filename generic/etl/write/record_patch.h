/*
 * etl/write/record_patch.h --
 *
 *	Overwrites header fields of a record while it is copied. Payload and extended items do not change.
 */
#ifndef ETW_RECORD_PATCH_H
#define ETW_RECORD_PATCH_H

#include "event/event.h"

/* In the order of the names in tcl/relog/relog_edit.c. */
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
 * Returns the bits of the fields that this kind of record does not have; the others are set. The
 * caller sets the CPU, which is reported as set.
 */
unsigned EtlEditApply(const EtlEdit *edit, uint8_t *record, size_t size);

#endif
