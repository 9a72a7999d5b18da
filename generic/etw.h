/*
 * etw.h --
 *
 *	The C API of etw for programs (link libetwcore.a, no Tcl needed) and for Tcl extensions
 *	(stubs table, Etw_InitStubs). Register a provider, define its events once, ask whether anybody
 *	listens, write.
 *
 *	    static Etw_Provider *prov;
 *	    static Etw_Event *sent;
 *	    prov = Etw_Register("My-Provider", NULL);
 *	    sent = Etw_DefineEvent(prov, &(Etw_EventDesc){.name = "Sent", .level = 4, .keyword = 1},
 *	            (Etw_Field[]){{"Bytes", ETW_IN_UINT32, 0, 0, 0}, {"Peer", ETW_IN_ANSIZ,
 *	ETW_OUT_UTF8, 0, 0}}, 2);
 *	    ...
 *	    if (Etw_Enabled(prov, 4, 1)) {
 *	        Etw_Write(sent, (Etw_Data[]){{&bytes, 4}, {peer, strlen(peer) + 1}}, 2);
 *	    }
 *
 *	A provider that has a state to tell, or work to prepare, adds an enable callback: it is told when
 *	a session anywhere begins or ends to listen, or asks for the state.
 *
 *	All functions may be called from any thread. Not for signal handlers, except Etw_Enabled.
 */
#ifndef ETW_H
#define ETW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ETW_EXTERN
#define ETW_EXTERN extern
#endif

typedef struct Etw_Event Etw_Event; /* opaque; lives until its provider's last Etw_Unregister */

/*
 * A registered provider. Lives in memory shared by all of the user's processes, so that a session
 * anywhere switches it on with one store. Only Etw_Enabled looks inside.
 */
typedef struct Etw_Provider {
    uint32_t enabled; /* 0: nobody listens; else the highest level that somebody wants, 1-255 */
    uint32_t reserved;
    uint64_t keywords; /* union of the keyword masks of all who listen */
} Etw_Provider;

/* Levels (1 critical, 2 error, 3 warning, 4 information, 5 verbose; 0 always) and opcodes as in
 * ETW. */
enum {
    ETW_LEVEL_CRITICAL = 1,
    ETW_LEVEL_ERROR,
    ETW_LEVEL_WARNING,
    ETW_LEVEL_INFO,
    ETW_LEVEL_VERBOSE
};
enum { ETW_OPCODE_INFO = 0, ETW_OPCODE_START = 1, ETW_OPCODE_STOP = 2 };

/* TraceLogging in-types: how a field's bytes are laid out. */
enum {
    ETW_IN_NULL = 0,
    ETW_IN_UTF16Z = 1, /* UTF-16LE, ends with a NUL */
    ETW_IN_ANSIZ = 2,  /* bytes, ends with a NUL (UTF-8 with ETW_OUT_UTF8) */
    ETW_IN_INT8 = 3,
    ETW_IN_UINT8 = 4,
    ETW_IN_INT16 = 5,
    ETW_IN_UINT16 = 6,
    ETW_IN_INT32 = 7,
    ETW_IN_UINT32 = 8,
    ETW_IN_INT64 = 9,
    ETW_IN_UINT64 = 10,
    ETW_IN_FLOAT = 11,
    ETW_IN_DOUBLE = 12,
    ETW_IN_BOOL32 = 13,
    ETW_IN_BINARY = 14, /* u16 length, bytes */
    ETW_IN_GUID = 15,
    ETW_IN_POINTER = 16,
    ETW_IN_FILETIME = 17,
    ETW_IN_SYSTEMTIME = 18,
    ETW_IN_SID = 19,
    ETW_IN_HEX32 = 20,
    ETW_IN_HEX64 = 21,
    ETW_IN_COUNTED_UTF16 = 22, /* u16 length in bytes, UTF-16LE */
    ETW_IN_COUNTED_ANSI = 23,  /* u16 length, bytes */
    ETW_IN_STRUCT = 24,        /* the next `count` fields are its members; no bytes of its own */
    ETW_IN_COUNTED_BINARY = 25
};
/* Out-types: how a value is meant to be shown. */
enum {
    ETW_OUT_DEFAULT = 0,
    ETW_OUT_NOPRINT = 1,
    ETW_OUT_STRING = 2,
    ETW_OUT_BOOL = 3,
    ETW_OUT_HEX = 4,
    ETW_OUT_PID = 5,
    ETW_OUT_TID = 6,
    ETW_OUT_PORT = 7, /* u16 in network byte order */
    ETW_OUT_IPV4 = 8,
    ETW_OUT_IPV6 = 9,
    ETW_OUT_SOCKADDR = 10,
    ETW_OUT_XML = 11,
    ETW_OUT_JSON = 12,
    ETW_OUT_WIN32 = 13,
    ETW_OUT_NTSTATUS = 14,
    ETW_OUT_HRESULT = 15,
    ETW_OUT_FILETIME = 16,
    ETW_OUT_SIGNED = 17,
    ETW_OUT_UNSIGNED = 18,
    ETW_OUT_DATETIME = 33,
    ETW_OUT_UTF8 = 35,
    ETW_OUT_PKCS7 = 36,
    ETW_OUT_CODE_POINTER = 37,
    ETW_OUT_DATETIME_UTC = 38
};
/* Arrays: a fixed number of elements, or a u16 count in the payload before them. */
enum { ETW_SCALAR = 0, ETW_ARRAY_FIXED = 1, ETW_ARRAY_COUNTED = 2 };

typedef struct Etw_Field {
    const char *name; /* UTF-8 */
    uint8_t in;       /* ETW_IN_* */
    uint8_t out;      /* ETW_OUT_* */
    uint8_t array;    /* ETW_SCALAR, ETW_ARRAY_FIXED, ETW_ARRAY_COUNTED */
    uint16_t count; /* ETW_ARRAY_FIXED: elements. ETW_IN_STRUCT: members (1-127); a struct array is
                       counted */
} Etw_Field;

struct Etw_Guid;
typedef struct Etw_EventDesc {
    const char *name; /* UTF-8 */
    uint16_t id;      /* 0 is usual for TraceLogging */
    uint8_t version;
    uint8_t level; /* 0: written whatever the session's level */
    uint8_t opcode;
    uint16_t task;
    uint64_t keyword; /* 0: written whatever the session's mask */
    /* Not zero: written without its description. Readers know it by provider, id and version. */
    uint8_t undescribed;
    /* A classic event of this class (NULL: none): readers know it by class, opcode and version. It
     * has neither description nor id, task, keyword, activity. */
    const struct Etw_Guid *classGuid;
} Etw_EventDesc;

typedef struct Etw_Data {
    const void *data;
    size_t size; /* bytes */
} Etw_Data;

typedef struct Etw_Guid {
    uint8_t bytes[16]; /* memory layout of Windows' GUID */
} Etw_Guid;

/* What a writer gets back. Every loss is also counted in the session, by kind. */
enum {
    ETW_WRITTEN = 0, /* or nobody wanted it */
    ETW_LOST_TOO_BIG = 1,
    ETW_LOST_NO_BUFFER = 2
};

/*
 * Something has changed in what the sessions together want of a provider: level (255: everything),
 * any (keyword masks, all ones for everything) and all; on ETW_CONTROL_DISABLE all 0. Or, with the
 * same values, a session asks that the provider writes what it would need to know from before
 * (ETW_CONTROL_CAPTURE_STATE): only while the provider is enabled.
 *
 * Called without locks, on the thread that made the change or on one of the library's own, by one
 * thread at a time for each callback; changes that follow each other fast may be told as one. It may
 * write, define events, and remove itself.
 */
enum { ETW_CONTROL_DISABLE = 0, ETW_CONTROL_ENABLE = 1, ETW_CONTROL_CAPTURE_STATE = 2 };
typedef void Etw_EnableProc(void *ctx, int control, uint8_t level, uint64_t any, uint64_t all);

#ifndef ETW_NO_PROTOTYPES
/* Register by name; guid NULL: derived from the name as EventSource does. NULL when the registry is
 * full or unreachable. */
ETW_EXTERN Etw_Provider *Etw_Register(const char *name, const Etw_Guid *guid);
ETW_EXTERN void Etw_Unregister(Etw_Provider *provider);
/* Have it called, within milliseconds of a change in whichever process of the user; at once when the
 * provider is enabled already. It ends with the provider's last Etw_Unregister at the latest. */
ETW_EXTERN void Etw_EnableCallbackAdd(Etw_Provider *provider, Etw_EnableProc *proc, void *ctx);
/* Not called any more behind this: waits for a call that goes on in another thread. */
ETW_EXTERN void Etw_EnableCallbackRemove(Etw_Provider *provider, Etw_EnableProc *proc, void *ctx);
/* Define an event once; same name and fields again give the same event. NULL: malformed fields or
 * out of room. */
ETW_EXTERN Etw_Event *Etw_DefineEvent(
        Etw_Provider *provider, const Etw_EventDesc *desc, const Etw_Field *fields, int fieldCount);
/* Write: the pieces, end to end, are the payload. Each enabled session gets it with one copy. */
ETW_EXTERN int Etw_Write(Etw_Event *event, const Etw_Data *data, int count);
/* The same with activity ids; NULL activity: the thread's current one. related may be NULL. */
ETW_EXTERN int Etw_WriteActivity(Etw_Event *event, const Etw_Guid *activity,
        const Etw_Guid *related, const Etw_Data *data, int count);
/* The calling thread's activity id. */
ETW_EXTERN void Etw_ActivityCreate(Etw_Guid *activity);
ETW_EXTERN void Etw_ActivitySet(const Etw_Guid *activity); /* NULL: none */
ETW_EXTERN void Etw_ActivityGet(Etw_Guid *activity);
#endif

/*
 * One load and a branch when nobody listens. Level 0 and keyword 0 always pass. A provider that could
 * not be registered (NULL) is one that nobody listens to.
 */
static inline int Etw_Enabled(const Etw_Provider *provider, uint8_t level, uint64_t keyword)
{
    uint32_t enabled = provider ? __atomic_load_n(&provider->enabled, __ATOMIC_RELAXED) : 0;
    if (__builtin_expect(enabled == 0, 1)) {
        return 0;
    }
    return level <= enabled && (keyword == 0 || (keyword & __atomic_load_n(&provider->keywords,
                                                                   __ATOMIC_RELAXED)) != 0);
}

#ifdef __cplusplus
}
#endif
#endif
