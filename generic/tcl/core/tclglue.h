/*
 * tcl/core/tclglue.h --
 *
 *	Shared by the files of generic/tcl: the per-interpreter context, errors, options, and conversions
 *	between Tcl values and the core's types.
 */
#ifndef ETW_TCLGLUE_H
#define ETW_TCLGLUE_H

#include "semantics/declared_events.h"
#include "tcl/core/tclcompat.h"
#include "base/unicode.h"
#include "base/guid.h"
#include "base/status.h"
#include "engine/engine.h"
#include "event/event.h"
#include "etw.h"
#include <stdbool.h>
#include <stdint.h>

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "1.0"
#endif

/* ---- The interpreter's context (init.c) ------------------------------------------------------ */

/* Keys of an event's dict, and the header names of -where and -fields. Order of eventKeyNames in
 * event_dict.c. */
typedef enum EtwKey {
    ETW_KEY_TIME,
    ETW_KEY_PROVIDER,
    ETW_KEY_EVENT,
    ETW_KEY_ID,
    ETW_KEY_VERSION,
    ETW_KEY_CHANNEL,
    ETW_KEY_LEVEL,
    ETW_KEY_OPCODE,
    ETW_KEY_TASK,
    ETW_KEY_KEYWORD,
    ETW_KEY_PID,
    ETW_KEY_TID,
    ETW_KEY_CPU,
    ETW_KEY_ACTIVITY,
    ETW_KEY_RELATED,
    ETW_KEY_PROCESS,
    ETW_KEY_OBJECT,
    ETW_KEY_SESSION,
    ETW_KEY_PROPS,
    ETW_KEY_STACK,
    ETW_KEY_FRAMES,
    ETW_KEY_ERROR,
    ETW_KEY_RAW,
    ETW_KEY_LATE,
    ETW_KEY_MESSAGE,
    ETW_KEY_COUNT
} EtwKey;

struct EtwWriteCache;
struct EtwTimelines;

/*
 * The context of an interpreter, its assoc data "etw". The interpreter owns it. It is zeroed first, so
 * that its free routine accepts a partly initialized one.
 */
typedef struct EtwInterp {
    Tcl_Interp *interp;
    Tcl_HashTable providers; /* lower-case name -> EtwTclProvider * (a reference each) */
    bool providersReady;
    Tcl_HashTable consumers; /* name -> EtwConsumer * */
    bool consumersReady;
    unsigned consumerCount; /* ever made: numbers their names */
    struct EtwWriteCache *writeCache;
    struct EtwTimelines *timelines; /* NULL: none were made */
    struct EtwSessionRates *rates;  /* of etw sessions; NULL: none yet */
    Tcl_Obj *keys[ETW_KEY_COUNT];   /* shared key objects of event dicts */
} EtwInterp;

/* The context of an interpreter; NULL: the package is not loaded there. */
EtwInterp *EtwInterpOf(Tcl_Interp *interp);
/* Give a child the commands that it may have: a safe one write and enabled, another one all. */
int EtwInitChild(Tcl_Interp *interp);

/* A command of an ensemble, and whether safe interpreters get it. */
typedef struct EtwCommand {
    const char *name;        /* NULL ends the table */
    Tcl_ObjCmdProc *proc;    /* NULL: it is created elsewhere */
    Tcl_ObjCmdProc *nreProc; /* NULL: proc is all */
    bool safe;
} EtwCommand;

/* Sub-commands of one C command: first column the names, abbreviations and messages as in an
 * ensemble. */
typedef struct EtwSubCommand {
    const char *name;
    Tcl_ObjCmdProc *proc; /* objv[0..1] are the command and the sub-command */
    const char *usage;    /* arguments after the sub-command */
    int minArgs, maxArgs; /* how many; maxArgs -1: any number */
} EtwSubCommand;
int EtwDispatch(const EtwSubCommand *table, void *clientData, Tcl_Interp *interp, int objc,
        Tcl_Obj *const objv[]);
/* Create the ensemble `name`, a full name, and its commands in the namespace of that name. flags: of
 * Tcl_CreateEnsemble, beside TCL_ENSEMBLE_PREFIX. */
int EtwMakeEnsemble(Tcl_Interp *interp, const char *name, const EtwCommand *commands, bool safe,
        void *clientData, int flags);

void EtwTimelinesFree(EtwInterp *ctx);                   /* timeline_cmd.c */
void EtwSessionRatesFree(struct EtwSessionRates *rates); /* sessions_cmd.c; accepts NULL */

/* Makes ::etw::script (script_cmd.c). */
int EtwScriptInit(Tcl_Interp *interp);
/* Makes ::etw::lib::child, the command-line tool's (child_cmd.c). */
void EtwChildInit(Tcl_Interp *interp);
/* Makes ::etw::lib::visible (text_cmd.c). */
void EtwVisibleInit(Tcl_Interp *interp);

Tcl_ObjCmdProc EtwStartCmd, EtwStopCmd, EtwQueryCmd, EtwFlushCmd, EtwUpdateCmd, EtwRecoverCmd,
        EtwSnapshotCmd;
Tcl_ObjCmdProc EtwSessionsCmd, EtwMarkCmd, EtwEnableCmd, EtwDisableCmd;
Tcl_ObjCmdProc EtwProvidersCmd, EtwProviderCmd, EtwWriteCmd, EtwEnabledCmd, EtwActivityCmd;
Tcl_ObjCmdProc EtwConsumerCmd; /* others: read_command.h */
Tcl_ObjCmdProc EtwWhereCmd, EtwPkgconfigCmd, EtwSchemaCmd, EtwTestCmd, EtwTimelineCmd;
/* etw::lib::formats, etw::lib::commands (export_cmd.c, read_command.c) */
Tcl_ObjCmdProc EtwFormatsCmd, EtwReadCommandsCmd;

/* ---- Errors (errors.c) ----------------------------------------------------------------------- */

/* Result and errorCode from *err; returns TCL_ERROR. interp may be NULL. */
int EtwTclError(Tcl_Interp *interp, const EtwError *err);
/* Make one on the spot; returns TCL_ERROR. */
int EtwTclFail(Tcl_Interp *interp, EtwStatus status, const char *detail, const char *subject,
        const char *format, ...) ETW_PRINTF(5, 6);

/* ---- Options (options.c) --------------------------------------------------------------------- */

typedef enum EtwOptionType {
    ETW_OPT_BOOL, /* int */
    ETW_OPT_INT,  /* int, min..max */
    ETW_OPT_WIDE, /* Tcl_WideInt, min..max */
    ETW_OPT_SIZE, /* Tcl_WideInt in `unit` bytes, min..max; a number may end in K, M or G (bytes) */
    ETW_OPT_ENUM, /* int: index into names */
    ETW_OPT_OBJ,  /* Tcl_Obj *, the caller's word */
    ETW_OPT_LIST  /* Tcl_Obj *, known to be a list */
} EtwOptionType;

typedef struct EtwOption {
    const char *name; /* "-buffersize"; NULL ends the table */
    EtwOptionType type;
    size_t offset;            /* of the value in the command's record */
    Tcl_WideInt min, max;     /* both 0: any */
    Tcl_WideInt unit;         /* ETW_OPT_SIZE */
    const char *const *names; /* ETW_OPT_ENUM, ends with NULL */
} EtwOption;

/* An entry, for macros that several tables share; the last one of each table. */
#define ETW_OPTION(...)                                                                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define ETW_OPTION_END ETW_OPTION(.name = NULL)

/*
 * Parse name-value pairs into *record, whose fields hold the defaults. `--` ends the options:
 * *usedPtr is how many words were taken. usedPtr NULL: every word must belong to an option. The
 * table must be static.
 */
int EtwParseOptions(Tcl_Interp *interp, const EtwOption *table, int objc, Tcl_Obj *const objv[],
        void *record, int *usedPtr);
/* Milliseconds between samples, 0.1 to 1000, in microseconds. obj NULL: unchanged. */
int EtwGetInterval(Tcl_Interp *interp, Tcl_Obj *obj, uint32_t *microsecondsPtr);

/* ---- Values (values.c) ----------------------------------------------------------------------- */

/* Real UTF-8 of a Tcl value (no C0 80, no surrogates). Points into obj or into *dsPtr, which the
 * caller inits and frees. */
const char *EtwUtf8Of(Tcl_Obj *obj, Tcl_DString *dsPtr, size_t *sizePtr);
/* Append that, or the same as UTF-16. */
void EtwAddTextOf(EtwText *out, Tcl_Obj *obj, bool utf16);
/* A Tcl value from bytes that should be UTF-8; others become U+FFFD. */
Tcl_Obj *EtwTextObj(const char *utf8, size_t size);
Tcl_Obj *EtwStringObj(const char *utf8); /* up to its NUL */
Tcl_Obj *EtwTakeText(EtwText *text);     /* of its bytes; *text is freed */
/* Path of a file in the native file system, as the core takes it. Same ownership as EtwUtf8Of.
 * NULL: error left. */
const char *EtwPathOf(Tcl_Interp *interp, Tcl_Obj *obj, Tcl_DString *dsPtr);
/* Whether the names refer to the same file. */
bool EtwSameFile(Tcl_Obj *a, Tcl_Obj *b);
/* Edit distance of two short names, ignoring case: for suggestions. */
int EtwNameDistance(const char *a, const char *b);
/* 0 .. 2^64-1. */
int EtwGetUint64(Tcl_Interp *interp, Tcl_Obj *obj, uint64_t *valuePtr);
/* -2^63 .. 2^63-1; false: it is no such number. */
static inline bool EtwGetInt64(Tcl_Obj *obj, int64_t *valuePtr)
{
    Tcl_WideInt wide;

    if (Tcl_GetWideIntFromObj(NULL, obj, &wide) != TCL_OK) {
        return false;
    }
    *valuePtr = wide;
#if TCL_MAJOR_VERSION < 9
    /* 8.6 wraps numbers of up to 64 bits and a sign. The type is int, wideInt or bignum now. */
    return obj->typePtr->name[0] != 'b';
#else
    return true;
#endif
}
Tcl_Obj *EtwUint64Obj(uint64_t value);
Tcl_Obj *EtwGuidObj(const EtwGuid *guid);
int EtwGetGuid(Tcl_Interp *interp, Tcl_Obj *obj, EtwGuid *guidPtr);
/* 0..255, or critical error warning information verbose. */
int EtwGetLevel(Tcl_Interp *interp, Tcl_Obj *obj, uint8_t *levelPtr);
/* A list of 1 to `room` numbers 0..max into *numbers; option names it in messages. */
int EtwGetNumbers(Tcl_Interp *interp, Tcl_Obj *list, const char *option, int capacity,
        Tcl_WideInt max, uint32_t *numbers, int *countPtr);
/* Names of programs in the engines' format, "a.exe;b.exe"; list is a list. In *dsPtr, which the
 * caller inits and frees. */
const char *EtwJoinExecutables(Tcl_Obj *list, Tcl_DString *dsPtr);

/* A number, or a list of numbers and of names that `names` has. provider is for the message. */
int EtwGetKeywords(Tcl_Interp *interp, Tcl_Obj *obj, const char *provider, const EtwKeyword *names,
        int count, uint64_t *maskPtr);
/* The words of a list that is known to be one. The caller frees the array; the texts are the list's. */
const char **EtwWordsOf(Tcl_Obj *list, int *countPtr);
/* Put key (a C string) and value into a dict. */
void EtwPut(Tcl_Obj *dict, const char *key, Tcl_Obj *value);
/* Call PREFIX with more words, at global level; they need no references. Returns the script's code. */
int EtwCallPrefix(Tcl_Interp *interp, Tcl_Obj *prefix, int argc, Tcl_Obj *const argv[]);

#endif
