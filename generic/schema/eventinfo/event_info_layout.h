/*
 * schema/eventinfo/event_info_layout.h --
 *
 *	Offsets in TRACE_EVENT_INFO, EVENT_PROPERTY_INFO and EVENT_MAP_INFO, which Windows' header tdh.h
 *	documents. Numbers only.
 */
#ifndef ETW_EVENT_INFO_LAYOUT_H
#define ETW_EVENT_INFO_LAYOUT_H

enum {
    INFO_PROVIDER = 0x00, /* GUIDs */
    INFO_EVENT = 0x10,
    INFO_DESCRIPTOR = 0x20,
    INFO_SOURCE = 0x30, /* u32s from here */
    INFO_PROVIDER_NAME = 0x34,
    INFO_LEVEL_NAME = 0x38,
    INFO_CHANNEL_NAME = 0x3c,
    INFO_KEYWORD_NAMES = 0x40, /* texts, each with its NUL, followed by an empty one */
    INFO_TASK_NAME = 0x44,
    INFO_OPCODE_NAME = 0x48,
    INFO_MESSAGE = 0x4c,
    INFO_EVENT_NAME = 0x5c, /* for manifests only */
    INFO_PROPERTIES = 0x64,
    INFO_TOP_LEVEL = 0x68,
    INFO_SIZE = 0x70,
    PROPERTY_SIZE = 24,
    MAP_HEADER = 16,
    MAP_ENTRY = 8
};
enum { SOURCE_XML = 0, SOURCE_WBEM = 1, SOURCE_WPP = 2 };
enum {
    PROPERTY_STRUCT = 1,
    PROPERTY_LENGTH_BY = 2,
    PROPERTY_COUNT_BY = 4,
    PROPERTY_FIXED_LENGTH = 0x10,
    PROPERTY_FIXED_COUNT = 0x20,
    PROPERTY_TAGS = 0x40 /* the last u32 is used */
};
enum {
    MAP_VALUES = 1,
    MAP_BITMAP = 2,
    MAP_PATTERN = 4,
    MAP_WBEM_BITMAP = 0x10,
    MAP_WBEM_FLAG = 0x20,
    MAP_WBEM_NO_MAP = 0x40
};

#endif
