/*
 * unix/kernel/transport/tracepoint_format.h --
 *
 *	Formats of tracepoints according to the running kernel (parsed by libtraceevent), and access to a
 *	field of a record. Offsets are determined once, at the enable. A record's size is checked once
 *	against the last field; then fields are read without checks.
 */
#ifndef ETW_TRACEPOINT_FORMAT_H
#define ETW_TRACEPOINT_FORMAT_H

#include "base/bytes.h"
#include "base/status.h"
#include <event-parse.h>

typedef struct KernelField {
    uint16_t offset;
    uint16_t size; /* 0: this kernel's event has no such field */
    bool isSigned;
} KernelField;

/* The common fields have always had these offsets; checked at load. */
enum { KERNEL_COMMON_TYPE = 0, KERNEL_COMMON_FLAGS = 2, KERNEL_COMMON_PID = 4, KERNEL_COMMON = 8 };
/* Bits of the common flags: the code that ran was an interrupt, not the thread. */
enum { KERNEL_FLAG_HARDIRQ = 0x08, KERNEL_FLAG_SOFTIRQ = 0x10 };

/* Tests: tracepoints (" sock:sock_send_length ...") to treat as missing, as on an older kernel. */
extern const char *kernelHidden;
bool KernelIsHidden(const char *system, const char *name);

struct tep_handle *KernelFormatsNew(EtwError *errPtr);
void KernelFormatsFree(struct tep_handle *formats);
size_t KernelFormatsPage(struct tep_handle *formats); /* bytes of a ring's page */
/* NULL: this kernel has no such tracepoint, or not with the common fields expected, or its format cannot be
 * read (errno says why, else it is 0). */
struct tep_event *KernelFormatOf(struct tep_handle *formats, const char *system, const char *event);
KernelField KernelFieldOf(struct tep_event *event, const char *name);

/* The existing name that is nearest to an unknown one, or NULL. The result is malloc'ed. */
char *KernelSuggest(char **names, const char *name);

static inline uint64_t KernelUint(KernelField f, const uint8_t *data)
{
    const uint8_t *p = data + f.offset;
    switch (f.size) {
    case 1:
        return *p;
    case 2:
        return EtwLoad16(p);
    case 4:
        return EtwLoad32(p);
    case 8:
        return EtwLoad64(p);
    default:
        return 0;
    }
}

static inline int64_t KernelInt(KernelField f, const uint8_t *data)
{
    uint64_t v = KernelUint(f, data);
    switch (f.size) {
    case 1:
        return (int8_t)v;
    case 2:
        return (int16_t)v;
    case 4:
        return (int32_t)v;
    default:
        return (int64_t)v;
    }
}

/* The bytes that a __data_loc (or, relative, __rel_loc) field points to, inside the record. */
EtwBytes KernelDynamic(KernelField f, bool relative, const uint8_t *data, uint32_t size);

#endif
