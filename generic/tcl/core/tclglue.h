/*
 * tcl/core/tclglue.h --
 *
 *	Shared by the files of generic/tcl: the per-interpreter context, errors, options, and conversions
 *	between Tcl values and the core's types.
 */
#ifndef ETW_TCLGLUE_H
#define ETW_TCLGLUE_H

#include "event/event_fields.h"
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

/* ---- The interpreter's context (package_init.c) ---------------------------------------------- */

/* Keys of an event's dict, and the header names of -where and -fields. */
#define ETW_KEY_OF(id, name) ETW_KEY_##id,
typedef enum EtwKey {
    ETW_FIELDS_HEADER(ETW_KEY_OF) ETW_FIELDS_PARTS(ETW_KEY_OF) ETW_FIELDS_MESSAGE(ETW_KEY_OF)
            ETW_KEY_COUNT
} EtwKey;

struct EtwWriteCache;
struct EtwTimelines;

/*
 * The context of an interpreter, its assoc data "etw". The interpreter owns it. It is zeroed when
 * allocated, so that a partly initialized one can be freed.
 */
typedef struct EtwInterp {
    Tcl_Interp *interp;
    Tcl_HashTable providers; /* lower-case name -> EtwTclProvider *, each with a reference */
    bool providersReady;
    Tcl_HashTable consumers; /* name -> EtwConsumer * */
    bool consumersReady;
    unsigned consumerCount; /* number of all consumers created so far, used for their names */
    struct EtwWriteCache *writeCache;
    struct EtwTimelines *timelines; /* NULL: none was created */
    struct EtwSessionRates *rates;  /* of etw sessions; NULL: none yet */
    Tcl_Obj *keys[ETW_KEY_COUNT];   /* shared key objects of event dicts */
} EtwInterp;

/* The context of an interpreter; NULL: the package is not loaded in it. */
EtwInterp *EtwInterpOf(Tcl_Interp *interp);
/*
 * Create the commands in a child interpreter: in a safe one write and enabled, in another one all.
 */
int EtwInitChild(Tcl_Interp *interp);

/* A command of an ensemble, and whether safe interpreters get it. */
typedef struct EtwCommand {
    const char *name;        /* NULL ends the table */
    Tcl_ObjCmdProc *proc;    /* NULL: it is created elsewhere */
    Tcl_ObjCmdProc *nreProc; /* NULL: none */
    bool safe;
} EtwCommand;

/* Sub-commands of one C command, with abbreviations and messages as in an ensemble. */
typedef struct EtwSubCommand {
    const char *name;
    Tcl_ObjCmdProc *proc; /* objv[0..1] are the command and the sub-command */
    const char *usage;    /* arguments after the sub-command */
    int minArgs, maxArgs; /* number of these arguments; maxArgs -1: any number */
} EtwSubCommand;
int EtwDispatch(const EtwSubCommand *table, void *clientData, Tcl_Interp *interp, int objc,
        Tcl_Obj *const objv[]);
/*
 * Create the ensemble `name`, a full name, and its commands in the namespace of that name. flags:
 * of Tcl_CreateEnsemble, in addition to TCL_ENSEMBLE_PREFIX.
 */
int EtwMakeEnsemble(Tcl_Interp *interp, const char *name, const EtwCommand *commands, bool safe,
        void *clientData, int flags);

void EtwTimelinesFree(EtwInterp *ctx);                   /* timeline_cmd.c */
void EtwSessionRatesFree(struct EtwSessionRates *rates); /* sessions_cmd.c; rates may be NULL */

/* Create ::etw::script (script_cmd.c). */
int EtwScriptInit(Tcl_Interp *interp);
/* Create ::etw::lib::child for the command-line tool (child_cmd.c). */
void EtwChildInit(Tcl_Interp *interp);
/* Create ::etw::lib::attach for the command-line tool (attach_cmd.c). */
void EtwAttachInit(Tcl_Interp *interp);
/* Create ::etw::lib::visible (text_cmd.c). */
void EtwVisibleInit(Tcl_Interp *interp);
/* Create ::etw::lib::parse (parse_cmd.c). */
void EtwParseInit(Tcl_Interp *interp);

Tcl_ObjCmdProc EtwStartCmd, EtwStopCmd, EtwQueryCmd, EtwFlushCmd, EtwUpdateCmd, EtwRecoverCmd,
        EtwSnapshotCmd;
Tcl_ObjCmdProc EtwSessionsCmd, EtwMarkCmd, EtwEnableCmd, EtwDisableCmd;
Tcl_ObjCmdProc EtwProvidersCmd, EtwProviderCmd, EtwWriteCmd, EtwEnabledCmd, EtwActivityCmd;
Tcl_ObjCmdProc EtwConsumerCmd; /* others: read_command.h */
Tcl_ObjCmdProc EtwWhereCmd, EtwPkgconfigCmd, EtwSchemaCmd, EtwTestCmd, EtwTimelineCmd, EtwDiffCmd;
/* etw::lib::formats, etw::lib::commands, etw::lib::losses (export_cmd.c, read_command.c, session_cmd.c) */
Tcl_ObjCmdProc EtwFormatsCmd, EtwReadCommandsCmd, EtwLossesCmd, EtwCountsCmd,
        EtwNormalizedCmd /* diff_cmd.c */;

/* ---- Errors (errors.c) ----------------------------------------------------------------------- */

/* Set result and errorCode from *err; returns TCL_ERROR. interp may be NULL. */
int EtwTclError(Tcl_Interp *interp, const EtwError *err);
/* Set result and errorCode from a format; returns TCL_ERROR. */
int EtwTclFail(Tcl_Interp *interp, EtwStatus status, const char *detail, const char *subject,
        const char *format, ...) ETW_PRINTF(5, 6);

/* ---- Options (options.c) --------------------------------------------------------------------- */

typedef enum EtwOptionType {
    ETW_OPT_BOOL, /* int */
    ETW_OPT_INT,  /* int, min..max */
    ETW_OPT_WIDE, /* Tcl_WideInt, min..max */
    ETW_OPT_SIZE, /* Tcl_WideInt in units of `unit` bytes, min..max; a number may have a unit of
                     its own, such as 64KB or 1G */
    ETW_OPT_ENUM, /* int: index into names */
    ETW_OPT_OBJ,  /* Tcl_Obj *, borrowed from the caller */
    ETW_OPT_LIST  /* Tcl_Obj *, verified to be a list */
} EtwOptionType;

typedef struct EtwOption {
    const char *name; /* "-buffersize"; NULL ends the table */
    EtwOptionType type;
    size_t offset;            /* of the value in the command's record */
    Tcl_WideInt min, max;     /* both 0: any */
    Tcl_WideInt unit;         /* ETW_OPT_SIZE */
    const char *const *names; /* ETW_OPT_ENUM; else for completion; ends with NULL */
} EtwOption;

/* An entry, for macros that several tables use and for the last entry of each table. */
#define ETW_OPTION(...)                                                                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define ETW_OPTION_END ETW_OPTION(.name = NULL)

/*
 * Parse name-value pairs into *record, whose fields contain the defaults. `--` ends the options;
 * *usedPtr: the number of words parsed. usedPtr NULL: every word must belong to an option. The
 * table must be static.
 */
int EtwParseOptions(Tcl_Interp *interp, const EtwOption *table, int objc, Tcl_Obj *const objv[],
        void *record, int *usedPtr);
/* Convert milliseconds between samples, 0.1 to 1000, to microseconds. obj NULL: unchanged. */
int EtwGetInterval(Tcl_Interp *interp, Tcl_Obj *obj, uint32_t *microsecondsPtr);

/* ---- Values (values.c) ----------------------------------------------------------------------- */

/*
 * Standard UTF-8 of a Tcl value (no C0 80, no surrogates). Points into obj or into *dsPtr, which
 * the caller initializes and frees.
 */
const char *EtwUtf8Of(Tcl_Obj *obj, Tcl_DString *dsPtr, size_t *sizePtr);
/* Append it, or the same text as UTF-16. */
void EtwAddTextOf(EtwText *out, Tcl_Obj *obj, bool utf16);
/* A Tcl value from bytes that should be UTF-8; invalid ones become U+FFFD. */
Tcl_Obj *EtwTextObj(const char *utf8, size_t size);
Tcl_Obj *EtwStringObj(const char *utf8); /* ends with NUL */
/* Frees *text. NULL: it has more than ETW_RESULT_MAX bytes, error left. */
Tcl_Obj *EtwTakeText(Tcl_Interp *interp, EtwText *text);
#define ETW_RESULT_MAX ((size_t)1 << 30)
/* Path of a file in the native file system. Same ownership as EtwUtf8Of. NULL: error left. */
const char *EtwPathOf(Tcl_Interp *interp, Tcl_Obj *obj, Tcl_DString *dsPtr);
/* True if the names refer to the same file. */
bool EtwSameFile(Tcl_Obj *a, Tcl_Obj *b);
/*
 * Edit distance of two short names, ignoring case, for suggestions. Two adjacent characters in the
 * wrong order count as one error.
 */
int EtwNameDistance(const char *a, const char *b);
/* A name is suggested for a wrong one if their distance is less than this. */
static inline int EtwNearDistance(const char *wrong)
{
    return (int)(strlen(wrong) + 1) / 3 + 1;
}
/* 0 .. 2^64-1. */
int EtwGetUint64(Tcl_Interp *interp, Tcl_Obj *obj, uint64_t *valuePtr);
/* -2^63 .. 2^63-1; false: not such a number. */
static inline bool EtwGetInt64(Tcl_Obj *obj, int64_t *valuePtr)
{
    Tcl_WideInt wide;

    if (Tcl_GetWideIntFromObj(NULL, obj, &wide) != TCL_OK) {
        return false;
    }
    *valuePtr = wide;
#if TCL_MAJOR_VERSION < 9
    /* Tcl 8.6 wraps numbers of up to 64 bits and a sign. The type is now int, wideInt or bignum. */
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
/* Convert a list of 1 to `capacity` numbers 0..max; `option` names it in messages. */
int EtwGetNumbers(Tcl_Interp *interp, Tcl_Obj *list, const char *option, int capacity,
        Tcl_WideInt max, uint32_t *numbers, int *countPtr);
/*
 * Join names of programs in the engines' format, "a.exe;b.exe"; list must be a list. The result is
 * in *dsPtr, which the caller initializes and frees.
 */
const char *EtwJoinExecutables(Tcl_Obj *list, Tcl_DString *dsPtr);

/* A number, or a list of numbers and of names in `names`. provider is used in the message. */
int EtwGetKeywords(Tcl_Interp *interp, Tcl_Obj *obj, const char *provider, const EtwKeyword *names,
        int count, uint64_t *maskPtr);
/* The words of a value that must be a list. The caller frees the array; the list owns the texts. */
const char **EtwWordsOf(Tcl_Obj *list, int *countPtr);
/* Put key (a C string) and value into a dict. */
void EtwPut(Tcl_Obj *dict, const char *key, Tcl_Obj *value);
/*
 * Call PREFIX with more words, at global level; they may have no references. Returns the script's
 * code.
 */
int EtwCallPrefix(Tcl_Interp *interp, Tcl_Obj *prefix, int argc, Tcl_Obj *const argv[]);

#endif
