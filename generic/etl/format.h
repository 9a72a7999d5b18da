/*
 * etl/format.h --
 *
 *	Constants of the .etl file format: offsets, flags, record types. The Windows headers evntrace.h
 *	and evntcons.h document most of them. Numbers only.
 */
#ifndef ETW_ETL_FORMAT_H
#define ETW_ETL_FORMAT_H

/* WMI_BUFFER_HEADER, 0x48 bytes at the start of each buffer */
enum {
    ETL_BUFFER_HEADER = 0x48,
    ETL_BUF_SIZE = 0x00,     /* u32 bytes on disk, header included */
    ETL_BUF_SAVED = 0x04,    /* u32 end of data */
    ETL_BUF_CURRENT = 0x08,  /* u32 meaningless to a reader */
    ETL_BUF_TIME = 0x10,     /* i64 flush time */
    ETL_BUF_SEQUENCE = 0x18, /* i64 */
    ETL_BUF_CPU = 0x28,      /* u16 */
    ETL_BUF_LOGGER = 0x2a,   /* u16 */
    ETL_BUF_STATE = 0x2c,    /* u32; 3: flushed */
    ETL_BUF_OFFSET = 0x30,   /* u32 end of data, repeated */
    ETL_BUF_FLAG = 0x34,     /* u16 */
    ETL_BUF_TYPE = 0x36,     /* u16 */
    ETL_BUF_REFERENCE = 0x38 /* FILETIME and clock at that time; in real-time backups only */
};
enum {
    ETL_FLAG_FLUSH_MARKER = 0x01,
    ETL_FLAG_EVENTS_LOST = 0x02,
    ETL_FLAG_BUFFER_LOST = 0x04,
    ETL_FLAG_RT_BACKUP = 0x10,
    ETL_FLAG_PROC_INDEX = 0x20,
    ETL_FLAG_COMPRESSED = 0x40
};
enum {
    ETL_BUFFER_GENERIC = 0,
    ETL_BUFFER_RUNDOWN = 1,
    ETL_BUFFER_CONTEXT_SWAP = 2,
    ETL_BUFFER_REFERENCE_TIME = 3,
    ETL_BUFFER_HEADER_TYPE = 4,
    ETL_BUFFER_BATCHED = 5,
    ETL_BUFFER_EMPTY_MARKER = 6, /* replaces a dropped buffer: no records */
    ETL_BUFFER_DEBUG_INFO = 7
};
enum { ETL_STATE_FLUSH = 3 };

/* Record header types (byte 2 when byte 3 is 0xC0) */
enum {
    ETL_SYSTEM32 = 1,
    ETL_SYSTEM64 = 2,
    ETL_COMPACT32 = 3,
    ETL_COMPACT64 = 4,
    ETL_FULL32 = 10,
    ETL_INSTANCE32 = 11,
    ETL_ERROR = 13,
    ETL_PERFINFO32 = 16,
    ETL_PERFINFO64 = 17,
    ETL_EVENT32 = 18,
    ETL_EVENT64 = 19,
    ETL_FULL64 = 20,
    ETL_INSTANCE64 = 21,
    ETL_MESSAGE = 0x90 /* WPP: byte 3 is 0x90 */
};
enum { ETL_MARK_TYPED = 0xC0, ETL_MARK_MESSAGE = 0x90 };

enum { ETL_SYSTEM_HEADER = 0x20, ETL_EVENT_HEADER = 0x50, ETL_LOGFILE_HEADER64 = 0x118 };
enum { ETL_EVENT_FLAG_EXTENDED = 1, ETL_EVENT_FLAG_STRING_ONLY = 4 };

/* Extended items of EVENT_HEADER records */
enum {
    ETL_ITEM_RELATED_ACTIVITY = 1,
    ETL_ITEM_SID = 2,
    ETL_ITEM_TS_ID = 3,
    ETL_ITEM_INSTANCE = 4,
    ETL_ITEM_STACK32 = 5,
    ETL_ITEM_STACK64 = 6,
    ETL_ITEM_PEBS_INDEX = 7,
    ETL_ITEM_PMC_COUNTERS = 8,
    ETL_ITEM_PSM_KEY = 9,
    ETL_ITEM_EVENT_KEY = 10,
    ETL_ITEM_SCHEMA_TL = 11,
    ETL_ITEM_PROV_TRAITS = 12,
    ETL_ITEM_PROCESS_START_KEY = 13,
    ETL_ITEM_CONTROL_GUID = 14,
    ETL_ITEM_QPC_DELTA = 15,
    ETL_ITEM_CONTAINER_ID = 16,
    ETL_ITEM_STACK_KEY32 = 17,
    ETL_ITEM_STACK_KEY64 = 18
};

/* LogFileMode bits */
enum {
    ETL_MODE_SEQUENTIAL = 1,
    ETL_MODE_CIRCULAR = 2,
    ETL_MODE_APPEND = 4,
    ETL_MODE_NEWFILE = 8,
    ETL_MODE_MS_FLUSH = 0x10,
    ETL_MODE_REALTIME = 0x100,
    ETL_MODE_BUFFERING = 0x400,
    ETL_MODE_PRIVATE = 0x800,
    ETL_MODE_PRIVATE_IN_PROCESS = 0x20000,
    ETL_MODE_COMPRESSED = 0x04000000,
    ETL_MODE_NO_CPU_BUFFERS = 0x10000000
};

/*
 * Sessions whose buffers may not be in time order: private ones, and those without a buffer for
 * each CPU.
 */
enum {
    ETL_MODE_UNSORTED = ETL_MODE_PRIVATE | ETL_MODE_PRIVATE_IN_PROCESS | ETL_MODE_NO_CPU_BUFFERS
};

/* Hooks of the records after the first one in a header buffer */
enum {
    ETL_HOOK_HEADER = 0x0000,
    ETL_HOOK_EXTENSION = 0x0005,
    ETL_HOOK_GROUP_MASKS = 0x0020,
    ETL_HOOK_BUILD_LAB = 0x0042,
    ETL_HOOK_PARTITION = 0x0050
};

enum { ETL_CHANNEL_TRACELOGGING = 11 };
enum { ETL_MAX_RECORD = 0xFFFF };

#endif
