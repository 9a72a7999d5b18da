/*
 * script/script_text.h --
 *
 *	The text fields of an event as a list of pieces, which refer to Tcl's words and values in place. They
 *	are converted only where Tcl's UTF-8 or the list form requires it, truncated at a limit, and masked.
 *	A value that has no string representation does not get one.
 */
#ifndef ETW_SCRIPT_TEXT_H
#define ETW_SCRIPT_TEXT_H

#include "script/script_int.h"

enum {
    ETW_PIECES = 64,
    ETW_SCRATCH = 0xF000 + 4096,
    ETW_NAME_MAX = 1024,  /* bytes of a name, a context, a file */
    ETW_TEXT_MAX = 0xE000 /* bytes of a command or a result: an event stays below 60 KB */
};

typedef struct EtwPieces {
    Etw_Data data[ETW_PIECES];
    int count;
    const EtwScriptState *state;
    char *scratch; /* ETW_SCRATCH bytes */
    size_t used;
    /* The field being filled: */
    size_t size, limit;
    size_t lost; /* bytes that did not fit */
    bool guessed;
} EtwPieces;

void EtwPiecesBegin(EtwPieces *p, EtwScriptState *state);
/* A fixed part. `data` must remain valid until the event is written. */
void EtwPiecesRaw(EtwPieces *p, const void *data, size_t size);

void EtwFieldBegin(EtwPieces *p, size_t limit);
void EtwFieldTcl(EtwPieces *p, const char *text, size_t size);       /* Tcl's own UTF-8 */
void EtwFieldElement(EtwPieces *p, const char *text, size_t size);   /* first element of a list */
void EtwFieldWord(EtwPieces *p, Tcl_Obj *word, const EtwRule *rule); /* as an element of a list */
void EtwFieldValue(EtwPieces *p, Tcl_Obj *value, const EtwRule *rule);
uint16_t EtwFieldEnd(EtwPieces *p); /* adds the mark of truncation; returns the size of the field */

/*
 * The common case, without pieces: a short word or value with a string or an integer, copied to
 * `at` (ETW_FLAT_MAX + 2 bytes of room) as EtwFieldWord and EtwFieldValue would add it. Returns
 * its end. NULL: not a simple case; use the pieces.
 */
enum { ETW_FLAT_MAX = 64, ETW_FLAT_WORDS = 8 };
char *EtwFlatWord(char *at, Tcl_Obj *word);
char *EtwFlatValue(char *at, Tcl_Obj *value);

/* Determines which types can be shown without a string representation; once per process. */
void EtwScriptTextInit(void);
/* Converts Tcl's UTF-8 to standard UTF-8, at most size bytes, into out (of the same size). Returns the length. */
size_t EtwScriptTextConvert(char *out, const char *text, size_t size);
bool EtwScriptTextNeedsConversion(const char *text, size_t size);
bool EtwScriptTextIsList(const Tcl_Obj *obj); /* by its type, without parsing its string */
/* The value itself if it has a string, else a new value: the string that it would get. NULL: that has more than `limit` bytes, or is not known. */
Tcl_Obj *EtwScriptTextExact(Tcl_Obj *obj, size_t limit);
/* A byte array's bytes, or those of its string. */
uint64_t EtwScriptTextBytes(Tcl_Obj *obj);

#endif
