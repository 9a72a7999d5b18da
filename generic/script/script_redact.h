/*
 * script/script_redact.h --
 *
 *	Redaction (-redact): the patterns of a rule, masking of words, and the search of all texts
 *	of an event before it is written. The patterns of all rules of an interpreter that are in
 *	use apply to all of its events.
 */
#ifndef ETW_SCRIPT_REDACT_H
#define ETW_SCRIPT_REDACT_H

#include "script/script_text.h"
#include "engine/provider/provider.h"

EtwRedaction *EtwRedactionNew(Tcl_Obj *list); /* glob patterns; NULL: not a list, or empty */
void EtwRedactionFree(EtwRedaction *redaction);
Tcl_Obj *EtwRedactionList(const EtwRedaction *redaction); /* the patterns; redaction may be NULL */

/* Count the uses of a rule: change is 1 when a pattern or running body begins to use it, -1 when it ends. */
void EtwRedactUse(EtwScriptState *state, EtwRule *rule, int change);

/* True if patterns apply to an event that this rule (NULL: none) writes. */
static inline bool EtwRedacts(const EtwScriptState *state, const EtwRule *rule)
{
    return state->redacting != NULL || (rule != NULL && rule->redaction != NULL);
}
/*
 * Append a word or value (Tcl's UTF-8, ends with NUL) with matching words replaced by ***: the
 * whole text, elements of lists, or words between blanks.
 */
void EtwRedactWords(Tcl_DString *out, const EtwScriptState *state, const EtwRule *rule,
        const char *text, size_t size);
/* A redacted copy of a name, to be freed by EtwFree; NULL: no patterns apply. */
char *EtwRedactName(const EtwScriptState *state, const EtwRule *rule, const char *name);

uint64_t EtwRedactWrite(EtwScriptState *state, const EtwRule *rule, int event, const Etw_Data *data,
        int count, const EtwElapsed *elapsed);

/*
 * Write an event of Tcl-Script; all of them are written by this function. elapsed: NULL, or as for EtwWriteElapsed;
 * its offset is before the first text. Returns the event's ticks; 0: no session recorded it, or elapsed is not NULL.
 */
static inline uint64_t EtwScriptWrite(EtwScriptState *state, const EtwRule *rule, int event,
        const Etw_Data *data, int count, const EtwElapsed *elapsed)
{
    if (__builtin_expect(EtwRedacts(state, rule), 0)) {
        return EtwRedactWrite(state, rule, event, data, count, elapsed);
    }
    if (elapsed != NULL) {
        EtwWriteElapsed(etwScriptEvents[event], data, count, elapsed);
        return 0;
    }
    return EtwWriteStamped(etwScriptEvents[event], data, count);
}

#endif
