/*
 * script/builtin/builtin_wrappers.c --
 *
 *	The table of Tcl commands with wrappers; see builtin_wrappers.h. Used by the fast hook layer
 *	only. A command is recognized after a script has renamed it. A command that a script has
 *	defined under the same name is not wrapped.
 */
#include "script/builtin/builtin_wrappers.h"
#include <string.h>

struct EtwBuiltin {
    const char *name;
    int (*use)(const EtwWrapCall *use);
};

static const EtwBuiltin builtins[] = {
        {"::after", EtwWrapAfter},
        {"::close", EtwWrapClose},
        {"::exec", EtwWrapOpen},
        {"::fcopy", EtwWrapCopy},
        {"::fileevent", EtwWrapFileevent},
        {"::flush", EtwWrapFlush},
        {"::gets", EtwWrapGets},
        {"::interp", EtwWrapInterp},
        {"::open", EtwWrapOpen},
        {"::package", EtwWrapPackage},
        {"::puts", EtwWrapPuts},
        {"::read", EtwWrapRead},
        {"::socket", EtwWrapSocket},
        {"::tcl::chan::close", EtwWrapClose},
        {"::tcl::chan::copy", EtwWrapCopy},
        {"::tcl::chan::event", EtwWrapFileevent},
        {"::tcl::chan::flush", EtwWrapFlush},
        {"::tcl::chan::gets", EtwWrapGets},
        {"::tcl::chan::puts", EtwWrapPuts},
        {"::tcl::chan::read", EtwWrapRead},
        {"::thread::cond", EtwWrapWait},
        {"::thread::join", EtwWrapWait},
        {"::thread::mutex", EtwWrapWait},
        {"::thread::rwmutex", EtwWrapWait},
        {"::thread::send", EtwWrapSend},
        {"::thread::wait", EtwWrapLoop},
        {"::tkwait", EtwWrapLoop},
        {"::tpool::wait", EtwWrapLoop},
        {"::update", EtwWrapLoop},
        {"::vwait", EtwWrapLoop},
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

const char *EtwBuiltinName(const EtwBuiltin *builtin)
{
    return builtin->name;
}

int EtwBuiltinCall(const EtwHook *hook, Tcl_ObjCmdProc *proc, void *clientData, Tcl_Interp *interp,
        int objc, Tcl_Obj *const objv[])
{
    EtwWrapCall use = {hook, proc, clientData, interp, objc, objv};
    return hook->builtin->use(&use);
}

const EtwRule *EtwBuiltinRule(const EtwScriptState *state)
{
    static const EtwRule plain = {.refs = 1, .options = {.args = 1}, .maxLength = 4096};
    for (const EtwPattern *p = state->patterns; p != NULL; p = p->next) {
        if (p->rule->redaction != NULL) {
            return p->rule;
        }
    }
    return state->patterns != NULL ? state->patterns->rule : &plain;
}
