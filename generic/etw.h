/*
 * etw.h --
 *
 *	The C API of etw, for C99 and later and for C++11 and later. A program links libetwcore.a and needs
 *	no Tcl. A Tcl extension includes etwStubs.h instead, which reaches the same functions through a
 *	stubs table.
 *
 *	    static Etw_Provider *prov;
 *	    prov = Etw_Register("My-Provider", NULL);
 *	    ...
 *	    ETW_WRITE(prov, "Sent", ETW_LEVEL(5), ETW_KEYWORD(1), ETW_U32("Bytes", n), ETW_STR("Peer", peer));
 *	    ...
 *	    Etw_Unregister(prov);
 *
 *	ETW_WRITE (below) defines the event at its first use. Generated code and bindings, which do not
 *	know their events when they are compiled, define and write them with functions:
 *
 *	    static const Etw_Field fields[] = {
 *	        {"Bytes", ETW_IN_UINT32, 0, 0, 0},
 *	        {"Peer", ETW_IN_ANSIZ, ETW_OUT_UTF8, 0, 0}};
 *	    static const Etw_EventDesc desc = {.name = "Sent", .level = 5, .keyword = 1};
 *	    Etw_Event *sent = Etw_DefineEvent(prov, &desc, fields, 2);
 *	    ...
 *	    if (Etw_Enabled(prov, 5, 1)) {
 *	        Etw_Write(sent, (Etw_Data[]){{&n, 4}, {peer, strlen(peer) + 1}}, 2);
 *	    }
 *
 *	A provider that has a state to report, or work to prepare, adds an enable callback. It is called
 *	when a session in any process of the user enables or disables the provider, or requests its state.
 *
 *	All functions may be called from any thread. None may be called from a signal handler, except
 *	Etw_Enabled.
 */
#ifndef ETW_H
#define ETW_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ETW_EXTERN
#define ETW_EXTERN extern
#endif

/* An event that was defined. It is valid until its provider's last Etw_Unregister in this process. */
typedef struct Etw_Event Etw_Event;

/*
 * A registered provider. It is in memory that all processes of the user share, so that a session of
 * any process enables it with one store. Only Etw_Enabled reads its members.
 */
typedef struct Etw_Provider {
    uint32_t enabled; /* 0: no session; otherwise the highest level of all sessions, 1-255 */
    uint32_t reserved;
    uint64_t keywords; /* union of the keyword masks of all sessions */
} Etw_Provider;

/* Levels and opcodes as in ETW. An event of level 0 passes every session's level. */
enum {
    ETW_LEVEL_CRITICAL = 1,
    ETW_LEVEL_ERROR,
    ETW_LEVEL_WARNING,
    ETW_LEVEL_INFO,
    ETW_LEVEL_VERBOSE
};
enum { ETW_OPCODE_INFO = 0, ETW_OPCODE_START = 1, ETW_OPCODE_STOP = 2 };

/* TraceLogging in-types: the layout of a field's bytes. */
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
/* TraceLogging out-types: the notation in which readers show a value. */
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
    uint8_t level; /* 0: passes every session's level */
    uint8_t opcode;
    uint16_t task;
    uint64_t keyword; /* 0: passes every session's keyword mask */
    /* Not zero: the event is written without its description. Readers identify it by provider, id
     * and version. */
    uint8_t undescribed;
    /* Not NULL: a classic event of this class. Readers identify it by class, opcode and version. It
     * has no description, id, task, keyword or activity. */
    const struct Etw_Guid *classGuid;
} Etw_EventDesc;

typedef struct Etw_Data {
    const void *data;
    size_t size; /* bytes */
} Etw_Data;

typedef struct Etw_Guid {
    uint8_t bytes[16]; /* memory layout of Windows' GUID */
} Etw_Guid;

/* The static data of one use of ETW_WRITE. The first three members do not change. */
typedef struct Etw_Site {
    Etw_EventDesc desc;
    const Etw_Field *fields;
    int fieldCount;
    /* Private to Etw_WriteSite, zero at first: the defined event for each of some providers, the
     * member of `events` that is replaced next, and a provider for which defining it failed. */
    Etw_Event *events[4];
    unsigned next;
    Etw_Provider *failed;
} Etw_Site;

/* The result of a write. The session also counts its lost events, by kind. */
enum {
    ETW_WRITTEN = 0,        /* or no session takes the event */
    ETW_LOST_TOO_BIG = 1,   /* larger than 61440 bytes, or than a buffer of the session */
    ETW_LOST_NO_BUFFER = 2, /* the session had no free buffer */
    ETW_LOST_UNDEFINED = 3  /* Etw_WriteSite: Etw_DefineEvent failed. No session counts it. */
};

/*
 * Called when the sessions' combined request for a provider has changed: level (255: everything), any
 * (union of the keyword masks, all ones for everything) and all. With ETW_CONTROL_DISABLE all three
 * are 0. With ETW_CONTROL_CAPTURE_STATE and the same values, a session requests that the provider
 * writes events that describe its current state; only while the provider is enabled.
 *
 * The call holds no locks. It is made on the thread that made the change or on one of the library's
 * own threads. One callback is not called by two threads at a time. Changes in quick succession may
 * be reported by one call. The callback may write events, define events and remove itself.
 */
enum { ETW_CONTROL_DISABLE = 0, ETW_CONTROL_ENABLE = 1, ETW_CONTROL_CAPTURE_STATE = 2 };
typedef void Etw_EnableProc(void *ctx, int control, uint8_t level, uint64_t any, uint64_t all);

#ifndef ETW_NO_PROTOTYPES
/* Register a provider. guid NULL: derived from the name as .NET's EventSource does. Registrations of
 * the same GUID in one process are counted and return the same provider. Returns NULL when the name
 * is empty or too long (127 bytes), or the user's registry is full or cannot be opened; all functions
 * accept NULL as a provider that is never enabled. */
ETW_EXTERN Etw_Provider *Etw_Register(const char *name, const Etw_Guid *guid);
/* The caller makes sure that no thread still writes the provider's events. */
ETW_EXTERN void Etw_Unregister(Etw_Provider *provider);
/* Add a callback. It is called within milliseconds of a change by any process of the user, and at
 * once when the provider is enabled already. The provider's last Etw_Unregister removes it. */
ETW_EXTERN void Etw_EnableCallbackAdd(Etw_Provider *provider, Etw_EnableProc *proc, void *ctx);
/* Remove a callback. Waits for a call that is running in another thread; there is none afterwards. */
ETW_EXTERN void Etw_EnableCallbackRemove(Etw_Provider *provider, Etw_EnableProc *proc, void *ctx);
/* Define an event. The same descriptor and fields again return the same event. Returns NULL when the
 * fields are malformed or the registry has no space left. */
ETW_EXTERN Etw_Event *Etw_DefineEvent(
        Etw_Provider *provider, const Etw_EventDesc *desc, const Etw_Field *fields, int fieldCount);
/* Write an event to every session that has enabled it. The payload is the concatenation of the
 * `count` pieces. Returns ETW_WRITTEN or ETW_LOST_*. */
ETW_EXTERN int Etw_Write(Etw_Event *event, const Etw_Data *data, int count);
/* The same with activity ids. activity NULL: the thread's current one. related NULL: none. */
ETW_EXTERN int Etw_WriteActivity(Etw_Event *event, const Etw_Guid *activity,
        const Etw_Guid *related, const Etw_Data *data, int count);
/* Etw_WriteActivity for the event of a call site, which is defined first where necessary. For
 * ETW_WRITE, which has checked Etw_Enabled. */
ETW_EXTERN int Etw_WriteSite(Etw_Site *site, Etw_Provider *provider, const Etw_Guid *activity,
        const Etw_Guid *related, const Etw_Data *data, int count);
/* The calling thread's activity id. A new one; set it (NULL: none); get it (zeros: none). */
ETW_EXTERN void Etw_ActivityCreate(Etw_Guid *activity);
ETW_EXTERN void Etw_ActivitySet(const Etw_Guid *activity);
ETW_EXTERN void Etw_ActivityGet(Etw_Guid *activity);
#endif

/*
 * Whether a session has enabled events of this level and keyword. One load and a branch when none has
 * enabled the provider. Level 0 and keyword 0 always pass.
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

/* ---- One event in one line ------------------------------------------------------------------- */

/*
 * ETW_WRITE(provider, "Event", ARGUMENT, ...)
 *
 * Writes an event to every session that has enabled it. A statement without a result. The arguments
 * are fields, in the order in which they are written, and attributes, in any place.
 *
 * Names of events and fields are string literals in UTF-8. Attributes are constant expressions, except
 * activity ids. An event has at most 16 fields, and 24 arguments in all; more are a compile-time error.
 *
 * Cost: one load and a branch when no session has enabled the provider. Then, and when no session has
 * enabled the event's level and keywords, no argument is evaluated. Otherwise each argument is
 * evaluated once. The first event that a call site writes for a provider takes some microseconds longer.
 *
 * Threads: a call site may be used by several threads at once and with several providers. It remains
 * usable when the provider is unregistered and registered again.
 *
 * Errors: a provider that is NULL is never enabled. A session counts the events that it loses: those
 * that are larger than 61440 bytes or find no free buffer. Events are also lost, and counted nowhere,
 * when the user's registry has no space for their definition.
 */
#define ETW_WRITE(provider, ...)                                                                   \
    ETW_M_WRITE(provider, ETW_M_JOIN(ETW_M_EACH, ETW_M_COUNT(__VA_ARGS__)), __VA_ARGS__)

/* Attributes. Unless given: level 4 (information), keyword 0, opcode 0, task 0, id 0. */
#define ETW_LEVEL(level) (etwNumber, 1, level)    /* 0-255 */
#define ETW_OPCODE(opcode) (etwNumber, 2, opcode) /* 0-255 */
#define ETW_TASK(task) (etwNumber, 3, task)       /* 0-65535 */
#define ETW_ID(id) (etwNumber, 4, id)             /* 0-65535 */
#define ETW_KEYWORD(mask) (etwKeyword, mask)      /* 64 bits; several masks are combined */
#define ETW_ACTIVITY(guid) (etwId, 0, guid)       /* const Etw_Guid *; NULL: the thread's own */
#define ETW_RELATED(guid) (etwId, 1, guid)        /* const Etw_Guid *; NULL: none */

/* Integers, decimal and (X) hexadecimal; floating point. Converted as by an assignment. */
#define ETW_I8(name, value) ETW_M_VALUE(name, INT8, DEFAULT, int8_t, value)
#define ETW_I16(name, value) ETW_M_VALUE(name, INT16, DEFAULT, int16_t, value)
#define ETW_I32(name, value) ETW_M_VALUE(name, INT32, DEFAULT, int32_t, value)
#define ETW_I64(name, value) ETW_M_VALUE(name, INT64, DEFAULT, int64_t, value)
#define ETW_U8(name, value) ETW_M_VALUE(name, UINT8, DEFAULT, uint8_t, value)
#define ETW_U16(name, value) ETW_M_VALUE(name, UINT16, DEFAULT, uint16_t, value)
#define ETW_U32(name, value) ETW_M_VALUE(name, UINT32, DEFAULT, uint32_t, value)
#define ETW_U64(name, value) ETW_M_VALUE(name, UINT64, DEFAULT, uint64_t, value)
#define ETW_X8(name, value) ETW_M_VALUE(name, UINT8, HEX, uint8_t, value)
#define ETW_X16(name, value) ETW_M_VALUE(name, UINT16, HEX, uint16_t, value)
#define ETW_X32(name, value) ETW_M_VALUE(name, HEX32, DEFAULT, uint32_t, value)
#define ETW_X64(name, value) ETW_M_VALUE(name, HEX64, DEFAULT, uint64_t, value)
#define ETW_F32(name, value) ETW_M_VALUE(name, FLOAT, DEFAULT, float, value)
#define ETW_F64(name, value) ETW_M_VALUE(name, DOUBLE, DEFAULT, double, value)
/* A truth value: 0 is false, everything else is true. */
#define ETW_BOOL(name, value) ETW_M_VALUE(name, BOOL32, DEFAULT, int32_t, (value) ? 1 : 0)
/* Process and thread ids. */
#define ETW_PID(name, value) ETW_M_VALUE(name, UINT32, PID, uint32_t, value)
#define ETW_TID(name, value) ETW_M_VALUE(name, UINT32, TID, uint32_t, value)
/* A pointer to data, in hexadecimal. */
#define ETW_PTR(name, value) ETW_M_VALUE(name, POINTER, DEFAULT, const void *, value)
/* A time: units of 100 ns since 1601 in UTC (FILETIME); nanoseconds since 1970 in UTC. */
#define ETW_FILETIME(name, value) ETW_M_VALUE(name, FILETIME, DEFAULT, uint64_t, value)
#define ETW_UNIX_NS(name, value)                                                                   \
    ETW_FILETIME(name, (uint64_t)((int64_t)(value) / 100 + 116444736000000000))
/* Text in UTF-8: NUL-terminated, NULL is empty; `size` bytes without a NUL. */
#define ETW_STR(name, text) ETW_M_DATA(name, ANSIZ, UTF8, Etw_DataString(text))
#define ETW_STRN(name, text, size) ETW_M_SIZED(name, COUNTED_ANSI, UTF8, text, size)
/* Text in UTF-16LE, NUL-terminated: char16_t *, uint16_t *, on Windows wchar_t *. NULL is empty. */
#define ETW_WSTR(name, text)                                                                       \
    ETW_M_DATA(                                                                                    \
            name, UTF16Z, DEFAULT, Etw_DataWide(text, sizeof(char[sizeof *(text) == 2 ? 2 : -1])))
/* `size` bytes, at most 61440. */
#define ETW_BIN(name, bytes, size) ETW_M_SIZED(name, BINARY, DEFAULT, bytes, size)
/* const Etw_Guid *; NULL: zeros. */
#define ETW_GUID(name, guid) ETW_M_DATA(name, GUID, DEFAULT, Etw_DataGuid(guid))
/* Any other type that is not an array: ETW_IN_*, ETW_OUT_*, and the bytes of its value. */
#define ETW_FIELD(name, in, out, bytes, size) (etwData, name, in, out, Etw_DataBytes(bytes, size))

/* Nothing below is for use by programs. */

static inline Etw_Data Etw_DataBytes(const void *bytes, size_t size)
{
    Etw_Data data;
    data.data = bytes != NULL ? bytes : "";
    data.size = bytes != NULL ? size : 0;
    return data;
}

static inline Etw_Data Etw_DataString(const char *text)
{
    return text != NULL ? Etw_DataBytes(text, strlen(text) + 1) : Etw_DataBytes("", 1);
}

static inline Etw_Data Etw_DataGuid(const Etw_Guid *guid)
{
    static const Etw_Guid zeros = {{0}};
    return Etw_DataBytes(guid != NULL ? guid : &zeros, sizeof zeros);
}

static inline Etw_Data Etw_DataWide(const void *text, size_t unit)
{
    const char *bytes = (const char *)text;
    size_t size = 0;
    if (bytes == NULL) {
        return Etw_DataBytes("\0", unit);
    }
    while (bytes[size] != 0 || bytes[size + 1] != 0) {
        size += unit;
    }
    return Etw_DataBytes(bytes, size + unit);
}

/*
 * An argument is a list in parentheses. Its first member is its kind: etwValue, etwData, etwSized
 * (fields); etwNumber, etwKeyword, etwId (attributes). ETW_M_EACHn(step, x, name, ARGUMENT, ...)
 * expands to step(x, n, ARGUMENT) for each argument. There are five steps:
 *   ETW_M_DESC   the field's Etw_Field
 *   ETW_M_KEEP   statements that evaluate the argument and keep its value in variables named after n
 *   ETW_M_PIECES the Etw_Data of these variables
 *   ETW_M_SUM    attribute x: 0x10000 plus its value for each time it is given
 *   ETW_M_MASK   the keywords
 */
#define ETW_M_VALUE(name, in, out, type, value)                                                    \
    (etwValue, name, ETW_IN_##in, ETW_OUT_##out, type, value)
#define ETW_M_DATA(name, in, out, data) (etwData, name, ETW_IN_##in, ETW_OUT_##out, data)
#define ETW_M_SIZED(name, in, out, bytes, size)                                                    \
    (etwSized, name, ETW_IN_##in, ETW_OUT_##out, bytes, size)

#define ETW_M_WRITE(provider, each, ...)                                                           \
    do {                                                                                           \
        enum {                                                                                     \
            etwLevel_ = 0 each(ETW_M_SUM, 1, __VA_ARGS__),                                         \
            etwOpcode_ = 0 each(ETW_M_SUM, 2, __VA_ARGS__),                                        \
            etwTask_ = 0 each(ETW_M_SUM, 3, __VA_ARGS__),                                          \
            etwEventId_ = 0 each(ETW_M_SUM, 4, __VA_ARGS__)                                        \
        };                                                                                         \
        Etw_Provider *const etwProvider_ = (provider);                                             \
        if (Etw_Enabled(etwProvider_, (uint8_t)(etwLevel_ != 0 ? etwLevel_ & 0xFF : 4),            \
                    0 each(ETW_M_MASK, 0, __VA_ARGS__))) {                                         \
            static const Etw_Field etwFields_[] = {                                                \
                    each(ETW_M_DESC, 0, __VA_ARGS__){0, 0, 0, 0, 0}};                              \
            static Etw_Site etwSite_ = {                                                           \
                    {"" ETW_M_FIRST(__VA_ARGS__, 0), (uint16_t)etwEventId_, 0,                     \
                            (uint8_t)(etwLevel_ != 0 ? etwLevel_ & 0xFF : 4), (uint8_t)etwOpcode_, \
                            (uint16_t)etwTask_, 0 each(ETW_M_MASK, 0, __VA_ARGS__), 0, 0},         \
                    etwFields_, (int)(sizeof etwFields_ / sizeof etwFields_[0]) - 1, {0, 0, 0, 0}, \
                    0, 0};                                                                         \
            ETW_M_ASSERT(sizeof etwFields_ / sizeof etwFields_[0] <= 17,                           \
                    "ETW_WRITE: an event has at most 16 fields");                                  \
            ETW_M_ASSERT(ETW_M_ONCE(etwLevel_, 0xFF) && ETW_M_ONCE(etwOpcode_, 0xFF) &&            \
                                 ETW_M_ONCE(etwTask_, 0xFFFF) && ETW_M_ONCE(etwEventId_, 0xFFFF),  \
                    "ETW_WRITE: an attribute is given twice or out of range");                     \
            const Etw_Guid *etwIds_[2] = {0, 0};                                                   \
            each(ETW_M_KEEP, 0, __VA_ARGS__);                                                      \
            const Etw_Data etwData_[] = {each(ETW_M_PIECES, 0, __VA_ARGS__){0, 0}};                \
            Etw_WriteSite(&etwSite_, etwProvider_, etwIds_[0], etwIds_[1], etwData_,               \
                    (int)(sizeof etwData_ / sizeof etwData_[0]) - 1);                              \
        }                                                                                          \
    } while (0)

#if defined(__cplusplus)
#define ETW_M_ASSERT(condition, message) static_assert(condition, message)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define ETW_M_ASSERT(condition, message) _Static_assert(condition, message)
#else
#define ETW_M_ASSERT(condition, message) (void)sizeof(char[(condition) ? 1 : -1])
#endif
#define ETW_M_ONCE(sum, most) ((sum) == 0 || ((sum) >= 0x10000 && (sum) <= 0x10000 + (most)))

#define ETW_M_FIRST(first, ...) first
#define ETW_M_STRIP(...) __VA_ARGS__
#define ETW_M_JOIN(a, b) ETW_M_JOIN2(a, b)
#define ETW_M_JOIN2(a, b) a##b
#define ETW_M_CALL(...) ETW_M_CALL2(__VA_ARGS__)
#define ETW_M_CALL2(step, x, n, kind, ...) step##kind(x, n, __VA_ARGS__)

#define ETW_M_DESC(x, n, argument) ETW_M_CALL(ETW_M_DESC_, x, n, ETW_M_STRIP argument)
#define ETW_M_DESC_etwValue(x, n, name, in, out, ...) {"" name, in, out, 0, 0},
#define ETW_M_DESC_etwData(x, n, name, in, out, ...) {"" name, in, out, 0, 0},
#define ETW_M_DESC_etwSized(x, n, name, in, out, ...) {"" name, in, out, 0, 0},
#define ETW_M_DESC_etwNumber(x, n, ...)
#define ETW_M_DESC_etwKeyword(x, n, ...)
#define ETW_M_DESC_etwId(x, n, ...)

#define ETW_M_KEEP(x, n, argument) ETW_M_CALL(ETW_M_KEEP_, x, n, ETW_M_STRIP argument)
#define ETW_M_KEEP_etwValue(x, n, name, in, out, type, ...) type etw##n##_ = __VA_ARGS__;
#define ETW_M_KEEP_etwData(x, n, name, in, out, ...) Etw_Data etw##n##_ = __VA_ARGS__;
#define ETW_M_KEEP_etwSized(x, n, name, in, out, ...)                                              \
    Etw_Data etw##n##_ = Etw_DataBytes(__VA_ARGS__);                                               \
    uint16_t etwSize##n##_ = (uint16_t)etw##n##_.size;
#define ETW_M_KEEP_etwNumber(x, n, ...)
#define ETW_M_KEEP_etwKeyword(x, n, ...)
#define ETW_M_KEEP_etwId(x, n, which, ...) etwIds_[which] = __VA_ARGS__;

#define ETW_M_PIECES(x, n, argument) ETW_M_CALL(ETW_M_PIECES_, x, n, ETW_M_STRIP argument)
#define ETW_M_PIECES_etwValue(x, n, ...) {&etw##n##_, sizeof etw##n##_},
#define ETW_M_PIECES_etwData(x, n, ...) etw##n##_,
#define ETW_M_PIECES_etwSized(x, n, ...) {&etwSize##n##_, 2}, etw##n##_,
#define ETW_M_PIECES_etwNumber(x, n, ...)
#define ETW_M_PIECES_etwKeyword(x, n, ...)
#define ETW_M_PIECES_etwId(x, n, ...)

#define ETW_M_SUM(x, n, argument) ETW_M_CALL(ETW_M_SUM_, x, n, ETW_M_STRIP argument)
#define ETW_M_SUM_etwValue(x, n, ...)
#define ETW_M_SUM_etwData(x, n, ...)
#define ETW_M_SUM_etwSized(x, n, ...)
#define ETW_M_SUM_etwNumber(x, n, which, value) +((x) == (which) ? 0x10000 + (value) : 0)
#define ETW_M_SUM_etwKeyword(x, n, ...)
#define ETW_M_SUM_etwId(x, n, ...)

#define ETW_M_MASK(x, n, argument) ETW_M_CALL(ETW_M_MASK_, x, n, ETW_M_STRIP argument)
#define ETW_M_MASK_etwValue(x, n, ...)
#define ETW_M_MASK_etwData(x, n, ...)
#define ETW_M_MASK_etwSized(x, n, ...)
#define ETW_M_MASK_etwNumber(x, n, ...)
#define ETW_M_MASK_etwKeyword(x, n, mask) | (uint64_t)(mask)
#define ETW_M_MASK_etwId(x, n, ...)

/* The number of arguments with the event's name, up to 25; _TOO_MANY up to 64. */
#define ETW_M_COUNT(...)                                                                           \
    ETW_M_COUNT2(__VA_ARGS__, _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY,    \
            _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY,           \
            _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY,           \
            _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY,           \
            _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY,           \
            _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY, _TOO_MANY, 25, 24, 23, 22, 21, 20, 19, 18, \
            17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define ETW_M_COUNT2(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17,   \
        a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35,  \
        a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, a52, a53,  \
        a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, n, ...)                             \
    n
#define ETW_M_EACH_TOO_MANY(...)                                                                   \
    _Pragma("GCC error \"ETW_WRITE: at most 24 fields and attributes\"")
#define ETW_M_EACH1(step, x, name)
#define ETW_M_EACH2(step, x, name, a) step(x, 2, a)
#define ETW_M_EACH3(step, x, name, a, ...) step(x, 3, a) ETW_M_EACH2(step, x, name, __VA_ARGS__)
#define ETW_M_EACH4(step, x, name, a, ...) step(x, 4, a) ETW_M_EACH3(step, x, name, __VA_ARGS__)
#define ETW_M_EACH5(step, x, name, a, ...) step(x, 5, a) ETW_M_EACH4(step, x, name, __VA_ARGS__)
#define ETW_M_EACH6(step, x, name, a, ...) step(x, 6, a) ETW_M_EACH5(step, x, name, __VA_ARGS__)
#define ETW_M_EACH7(step, x, name, a, ...) step(x, 7, a) ETW_M_EACH6(step, x, name, __VA_ARGS__)
#define ETW_M_EACH8(step, x, name, a, ...) step(x, 8, a) ETW_M_EACH7(step, x, name, __VA_ARGS__)
#define ETW_M_EACH9(step, x, name, a, ...) step(x, 9, a) ETW_M_EACH8(step, x, name, __VA_ARGS__)
#define ETW_M_EACH10(step, x, name, a, ...) step(x, 10, a) ETW_M_EACH9(step, x, name, __VA_ARGS__)
#define ETW_M_EACH11(step, x, name, a, ...) step(x, 11, a) ETW_M_EACH10(step, x, name, __VA_ARGS__)
#define ETW_M_EACH12(step, x, name, a, ...) step(x, 12, a) ETW_M_EACH11(step, x, name, __VA_ARGS__)
#define ETW_M_EACH13(step, x, name, a, ...) step(x, 13, a) ETW_M_EACH12(step, x, name, __VA_ARGS__)
#define ETW_M_EACH14(step, x, name, a, ...) step(x, 14, a) ETW_M_EACH13(step, x, name, __VA_ARGS__)
#define ETW_M_EACH15(step, x, name, a, ...) step(x, 15, a) ETW_M_EACH14(step, x, name, __VA_ARGS__)
#define ETW_M_EACH16(step, x, name, a, ...) step(x, 16, a) ETW_M_EACH15(step, x, name, __VA_ARGS__)
#define ETW_M_EACH17(step, x, name, a, ...) step(x, 17, a) ETW_M_EACH16(step, x, name, __VA_ARGS__)
#define ETW_M_EACH18(step, x, name, a, ...) step(x, 18, a) ETW_M_EACH17(step, x, name, __VA_ARGS__)
#define ETW_M_EACH19(step, x, name, a, ...) step(x, 19, a) ETW_M_EACH18(step, x, name, __VA_ARGS__)
#define ETW_M_EACH20(step, x, name, a, ...) step(x, 20, a) ETW_M_EACH19(step, x, name, __VA_ARGS__)
#define ETW_M_EACH21(step, x, name, a, ...) step(x, 21, a) ETW_M_EACH20(step, x, name, __VA_ARGS__)
#define ETW_M_EACH22(step, x, name, a, ...) step(x, 22, a) ETW_M_EACH21(step, x, name, __VA_ARGS__)
#define ETW_M_EACH23(step, x, name, a, ...) step(x, 23, a) ETW_M_EACH22(step, x, name, __VA_ARGS__)
#define ETW_M_EACH24(step, x, name, a, ...) step(x, 24, a) ETW_M_EACH23(step, x, name, __VA_ARGS__)
#define ETW_M_EACH25(step, x, name, a, ...) step(x, 25, a) ETW_M_EACH24(step, x, name, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
