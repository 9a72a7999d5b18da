/*
 * flow/source/perf/perf_format.h --
 *
 *	The format of perf.data: the numbers of its records, features and flags, and the offsets of the
 *	members of its structures. Documented in tools/perf/Documentation/perf.data-file-format.txt of
 *	the kernel's source and in perf_event_open(2).
 */
#ifndef ETW_PERF_FORMAT_H
#define ETW_PERF_FORMAT_H

#include "base/bytes.h"

/* "PERFILE2" as a number; in a file of a machine with the other byte order the bytes are reversed. */
#define PERF_MAGIC 0x32454c4946524550ull

enum { PERF_PIPE_HEADER = 16, PERF_FILE_HEADER = 104, PERF_RECORD_HEADER = 8, PERF_SECTION = 16 };
/* Offsets in the header of a file. A section is an offset and a size, 8 bytes each. */
enum { FILE_SIZE = 8, FILE_ATTR_SIZE = 16, FILE_ATTRS = 24, FILE_DATA = 40, FILE_FEATURES = 72 };
enum { FEATURE_BITS = 256 };

typedef enum PerfFeature {
    FEATURE_TRACING_DATA = 1,
    FEATURE_BUILD_ID = 2,
    FEATURE_HOSTNAME = 3,
    FEATURE_OSRELEASE = 4,
    FEATURE_ARCH = 6,
    FEATURE_NRCPUS = 7,
    FEATURE_CMDLINE = 11,
    FEATURE_EVENT_DESC = 12,
    FEATURE_SAMPLE_TIME = 21,
    FEATURE_CLOCK_DATA = 29
} PerfFeature;

typedef enum PerfRecordType {
    RECORD_MMAP = 1,
    RECORD_LOST = 2,
    RECORD_COMM = 3,
    RECORD_EXIT = 4,
    RECORD_FORK = 7,
    RECORD_SAMPLE = 9,
    RECORD_MMAP2 = 10,
    RECORD_LOST_SAMPLES = 13,
    RECORD_SWITCH = 14,
    RECORD_SWITCH_CPU_WIDE = 15,
    RECORD_USER = 64, /* from here on written by perf, not by the kernel: without time */
    RECORD_HEADER_ATTR = 64,
    RECORD_TRACING_DATA = 66,
    RECORD_BUILD_ID = 67,
    RECORD_FINISHED_ROUND = 68,
    RECORD_AUXTRACE = 71,
    RECORD_EVENT_UPDATE = 78,
    RECORD_HEADER_FEATURE = 80,
    RECORD_COMPRESSED = 81,
    RECORD_COMPRESSED2 = 83
} PerfRecordType;

/* Bits of a record's misc. */
enum {
    MISC_CPUMODE = 7,
    MISC_KERNEL = 1,
    MISC_USER = 2,
    MISC_HYPERVISOR = 3,
    MISC_GUEST_KERNEL = 4,
    MISC_GUEST_USER = 5,
    MISC_MMAP_DATA = 1 << 13,
    MISC_COMM_EXEC = 1 << 13,
    MISC_SWITCH_OUT = 1 << 13,
    MISC_SWITCH_PREEMPT = 1 << 14,
    MISC_MMAP_BUILD_ID = 1 << 14,
    MISC_LOST_SAMPLES_BPF = 1 << 15,
    MISC_BUILD_ID_SIZE = 1 << 15
};

/* The sample_type of an attribute: what a sample has, in this order (IDENTIFIER is first). */
enum {
    SAMPLE_IP = 1 << 0,
    SAMPLE_TID = 1 << 1,
    SAMPLE_TIME = 1 << 2,
    SAMPLE_ADDR = 1 << 3,
    SAMPLE_READ = 1 << 4,
    SAMPLE_CALLCHAIN = 1 << 5,
    SAMPLE_ID = 1 << 6,
    SAMPLE_CPU = 1 << 7,
    SAMPLE_PERIOD = 1 << 8,
    SAMPLE_STREAM_ID = 1 << 9,
    SAMPLE_RAW = 1 << 10,
    SAMPLE_BRANCH_STACK = 1 << 11,
    SAMPLE_REGS_USER = 1 << 12,
    SAMPLE_STACK_USER = 1 << 13,
    SAMPLE_IDENTIFIER = 1 << 16
};
enum { READ_TIME_ENABLED = 1, READ_TIME_RUNNING = 2, READ_ID = 4, READ_GROUP = 8, READ_LOST = 16 };

/* perf_event_attr: offsets, types, flags. */
enum {
    ATTR_TYPE = 0,
    ATTR_SIZE = 4,
    ATTR_CONFIG = 8,
    ATTR_PERIOD = 16,
    ATTR_SAMPLE_TYPE = 24,
    ATTR_READ_FORMAT = 32,
    ATTR_FLAGS = 40,
    ATTR_LEAST = 48, /* bytes that each file has */
    ATTR_BRANCHES = 72,
    ATTR_REGISTERS = 80
};
enum { BRANCHES_HW_INDEX = 1 << 17, BRANCH = 24 /* bytes */ };
enum { ABI_64 = 2 /* of copied registers */ };
enum { TYPE_HARDWARE = 0, TYPE_SOFTWARE = 1, TYPE_TRACEPOINT = 2 };
enum { SOFTWARE_CPU_CLOCK = 0, SOFTWARE_TASK_CLOCK = 1, SOFTWARE_DUMMY = 9 };
enum { HARDWARE_CYCLES = 0, HARDWARE_REF_CYCLES = 9 };
#define ATTR_FREQ (1ull << 10)
#define ATTR_SAMPLE_ID_ALL (1ull << 18)

/* Addresses of a stack from here on are marks, such as "the kernel's frames follow". */
#define PERF_CONTEXT_MARKS ((uint64_t)-4095)
enum { PERF_PROT_EXEC = 4 };

typedef struct PerfHeader {
    uint32_t type;
    uint16_t misc, size; /* size: with the header */
} PerfHeader;

static inline PerfHeader PerfHeaderOf(const uint8_t *record)
{
    return (PerfHeader){EtwLoad32(record), EtwLoad16(record + 4), EtwLoad16(record + 6)};
}

#endif
