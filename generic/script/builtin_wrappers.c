/*
 * script/builtin_wrappers.c --
 *
 *	Which of Tcl's own commands are shown for what they do, see builtin_wrappers.h. The fast hook layer
 *	only. A command that scripts have renamed is still known; one that they defined in its place is
 *	theirs.
 */
#include "script/builtin_wrappers.h"
#include <string.h>

struct EtwBuiltin {
    const char *name;
    int (*use)(const EtwUse *use);
};

static const EtwBuiltin builtins[] = {
        {"::after", EtwUseAfter},
        {"::close", EtwUseClose},
        {"::exec", EtwUseOpen},
        {"::fcopy", EtwUseCopy},
        {"::fileevent", EtwUseFileevent},
        {"::gets", EtwUseGets},
        {"::open", EtwUseOpen},
        {"::package", EtwUsePackage},
        {"::puts", EtwUsePuts},
        {"::read", EtwUseRead},
        {"::socket", EtwUseSocket},
        {"::tcl::chan::close", EtwUseClose},
        {"::tcl::chan::copy", EtwUseCopy},
        {"::tcl::chan::event", EtwUseFileevent},
        {"::tcl::chan::gets", EtwUseGets},
        {"::tcl::chan::puts", EtwUsePuts},
        {"::tcl::chan::read", EtwUseRead},
        {"::tkwait", EtwUseLoop},
        {"::update", EtwUseLoop},
        {"::vwait", EtwUseLoop},
};

const EtwBuiltin *EtwBuiltinOf(const char *name)
{
    for (size_t i = 0; i < sizeof builtins / sizeof builtins[0]; i++) {
        if (strcmp(builtins[i].name, name) == 0) {
            return &builtins[i];
        }
    }
    return NULL;
}

int EtwBuiltinCall(const EtwHook *hook, Tcl_ObjCmdProc *proc, void *clientData, Tcl_Interp *interp,
        int objc, Tcl_Obj *const objv[])
{
    EtwUse use = {hook, proc, clientData, interp, objc, objv};
    return hook->builtin->use(&use);
}

const EtwRule *EtwBuiltinRule(const EtwScriptState *state)
{
    static const EtwRule plain = {.refs = 1, .options = {.args = 1}, .maxLength = 4096};
    for (const EtwPattern *p = state->patterns; p != NULL; p = p->next) {
        if (p->rule->redactCount > 0) {
            return p->rule;
        }
    }
    return state->patterns != NULL ? state->patterns->rule : &plain;
}
