/*
 * script/script_redact.h --
 *
 *	Redaction (-redact): the patterns of a rule, words that match them, and the last step of every event
 *	of Tcl-Script, which searches all its texts. The patterns of all rules of an interpreter that are in
 *	use apply to all of its events.
 */
#ifndef ETW_SCRIPT_REDACT_H
#define ETW_SCRIPT_REDACT_H

#include "script/script_text.h"
#include "engine/provider/provider.h"

EtwRedaction *EtwRedactionNew(Tcl_Obj *list); /* glob patterns; NULL: no list, or an empty one */
void EtwRedactionFree(EtwRedaction *redaction);
Tcl_Obj *EtwRedactionList(const EtwRedaction *redaction); /* the patterns; NULL is allowed */

/* A pattern or a running body begins (1) or ceases (-1) to use the rule. */
void EtwRedactUse(EtwScriptState *state, EtwRule *rule, int change);

/* Does anything apply to an event that is written by this rule (NULL: by none)? */
static inline bool EtwRedacts(const EtwScriptState *state, const EtwRule *rule)
{
    return state->redacting != NULL || (rule != NULL && rule->redaction != NULL);
}
/* Append a word or value (Tcl's UTF-8, ends with NUL). Words that match become ***: all of the text,
 * elements of lists, words between blanks. */
void EtwRedactWords(Tcl_DString *out, const EtwScriptState *state, const EtwRule *rule,
        const char *text, size_t size);
/* A redacted copy of a name, to be freed by EtwFree; NULL: nothing applies to it. */
char *EtwRedactName(const EtwScriptState *state, const EtwRule *rule, const char *name);

uint64_t EtwRedactWrite(EtwScriptState *state, const EtwRule *rule, int event, const Etw_Data *data,
        int count, const EtwElapsed *elapsed);

/*
 * Every event of Tcl-Script is written by this function. elapsed: NULL, or as EtwWriteElapsed has it;
 * its offset is before the first text. Returns the event's ticks; 0: no session took it, or elapsed.
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
