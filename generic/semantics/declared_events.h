/*
 * semantics/declared_events.h --
 *
 *	The declaration of our own events: providers, keywords, events, fields, their meaning and
 *	documentation. The providers define their events from it (EtwDeclaredFields). The semantics
 *	table and the tables in doc/internals/EVENTS.md (tools/gen-events.sh) are generated from it.
 *	A change here changes the file format that users' scripts read.
 */
#ifndef ETW_DECLARED_EVENTS_H
#define ETW_DECLARED_EVENTS_H

#include "semantics/semantics.h"

/*
 * CallId of Tcl-Script: a number that is unique in the process, and the interpreter. Its nesting can thus be followed when
 * events are lost. Traces of earlier versions have ids without the mark. All ids are below 2^53, so that JSON has them exactly.
 */
#define ETW_CALL_ID_MARK (1ull << 52)
enum { ETW_CALL_ID_INTERPS = 4096 };
static inline uint64_t EtwCallId(uint64_t number, uint32_t interp)
{
    return ETW_CALL_ID_MARK | (number * ETW_CALL_ID_INTERPS & (ETW_CALL_ID_MARK - 1)) |
           (interp % ETW_CALL_ID_INTERPS);
}

typedef struct EtwDeclaredField {
    const char *name;
    uint8_t in, out;     /* ETW_IN_*, ETW_OUT_* */
    const EtwMap *names; /* of its values; NULL: none */
    uint8_t role;        /* EtwRole */
    const char *text;
} EtwDeclaredField;

/* All events have level 4 (ETW_LEVEL_INFO). */
typedef struct EtwDeclaredEvent {
    const char *name;
    uint8_t opcode;
    uint64_t keyword;
    uint8_t meaning, naming; /* EtwMeaning, EtwNaming */
    const char *moves;       /* EtwSemantics.moves */
    const EtwDeclaredField *fields;
    int fieldCount;
    const char *text;
} EtwDeclaredEvent;

typedef struct EtwKeyword {
    const char *name;
    uint64_t mask;
} EtwKeyword;

typedef struct EtwDeclaredProvider {
    const char *name;
    const EtwKeyword *keywords;
    int keywordCount;
    const EtwDeclaredEvent *events; /* in the order in which the provider numbers them */
    int eventCount;
} EtwDeclaredProvider;

#define ETW_SCRIPT_PROVIDER "Tcl-Script"
#define ETW_SESSION_PROVIDER "Etw-Session"

/* Keywords and events of Tcl-Script, by number. */
enum {
    ETW_KEYWORD_CALL = 1,
    ETW_KEYWORD_STEP = 2,
    ETW_KEYWORD_VARIABLE = 4,
    ETW_KEYWORD_COMMAND = 8,
    ETW_KEYWORD_PACKAGE = 16,
    ETW_KEYWORD_CHANNEL = 32,
    ETW_KEYWORD_EVENT = 64,
    ETW_KEYWORD_SAMPLE = 128,
    ETW_KEYWORD_COVER = 256
};
enum {
    ETW_SCRIPT_ENTER,
    ETW_SCRIPT_LEAVE,
    ETW_SCRIPT_STEP_ENTER,
    ETW_SCRIPT_STEP_LEAVE,
    ETW_SCRIPT_VARIABLE,
    ETW_SCRIPT_COMMAND,
    ETW_SCRIPT_CALLBACK_ENTER,
    ETW_SCRIPT_CALLBACK_LEAVE,
    ETW_SCRIPT_PACKAGE_ENTER,
    ETW_SCRIPT_PACKAGE_LEAVE,
    ETW_SCRIPT_CHANNEL,
    ETW_SCRIPT_SAMPLE,
    ETW_SCRIPT_LINE,
    ETW_SCRIPT_WAIT,
    ETW_SCRIPT_COVER,
    ETW_SCRIPT_SCHEDULE,
    ETW_SCRIPT_EVENTS
};
/* Events of Etw-Session. */
enum { ETW_SESSION_HOST, ETW_SESSION_MARK, ETW_SESSION_PROCESS, ETW_SESSION_SYMBOL };
/* The fields of ETW_SESSION_SYMBOL, in their order. */
enum {
    ETW_SYMBOL_PATH,
    ETW_SYMBOL_BUILD,
    ETW_SYMBOL_PID,
    ETW_SYMBOL_OFFSET,
    ETW_SYMBOL_RETURN,
    ETW_SYMBOL_INLINED,
    ETW_SYMBOL_FUNCTION,
    ETW_SYMBOL_IN_FUNCTION,
    ETW_SYMBOL_FILE,
    ETW_SYMBOL_LINE,
    ETW_SYMBOL_FIELDS
};

extern const EtwDeclaredProvider etwDeclaredProviders[]; /* ends with a name of NULL */

/* NULL: not one of our own providers. */
const EtwDeclaredProvider *EtwDeclaredFind(const char *name);
/* Names of the values of a field, of our own events or of raw tracepoints; NULL: none. */
const EtwMap *EtwFieldNames(const char *provider, const char *event, const char *field);
/* In the form that Etw_DefineEvent takes: fills desc and fields, returns the number of fields. */
enum { ETW_DECLARED_FIELDS_MAX = 10 };
int EtwDeclaredFields(const EtwDeclaredEvent *event, Etw_EventDesc *desc,
        Etw_Field fields[ETW_DECLARED_FIELDS_MAX]);

#endif
