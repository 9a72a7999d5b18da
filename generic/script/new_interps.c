/*
 * script/new_interps.c --
 *
 *	A script for the interpreters that the process creates from now on, by `interp create`, by thread::create or in C: Tcl
 *	evaluates it at the begin of Tcl_Init, before init.tcl. Tcl has one such script for a process (Tcl_SetPreInitScript);
 *	that of the program is evaluated before ours. Only for `etw attach` (library/shim/attach.tcl).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "script/script_int.h"

#ifdef __linux__

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

typedef const char *SetScript(const char *script);

/* A script that Tcl may still read in another thread: never freed, used again if it is requested again. */
typedef struct Kept {
    struct Kept *next;
    char text[1];
} Kept;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Kept *kept;
static const char *ours; /* that Tcl has; NULL: none */
static const char *program;

/* Not in Tcl's tables of functions that both versions have. The library that exports it need not be global. */
static SetScript *findFunction(void)
{
    static const char *const name =
            TCL_MAJOR_VERSION > 8 ? "Tcl_SetPreInitScript" : "TclSetPreInitScript";
    Dl_info info;
    SetScript *function = NULL;
    if (dladdr((void *)(intptr_t)tclStubsPtr->tcl_PkgProvideEx, &info) != 0) {
        void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD), *found;
        if (library != NULL) {
            found = dlsym(library, name);
            memcpy(&function, &found, sizeof function);
            dlclose(library);
        }
    }
    return function;
}

static const char *keep(const char *before, const char *script)
{
    size_t first = before != NULL ? strlen(before) : 0, size = first + strlen(script) + 2;
    Kept *k = EtwAlloc(sizeof *k + size);
    snprintf(k->text, size, "%s\n%s", before != NULL ? before : "", script);
    for (const Kept *old = kept; old != NULL; old = old->next) {
        if (strcmp(old->text, k->text) == 0) {
            EtwFree(k);
            return old->text;
        }
    }
    k->next = kept;
    kept = k;
    return k->text;
}

bool EtwScriptNewInterps(const char *script)
{
    SetScript *set = findFunction();
    if (set == NULL) {
        return false;
    }
    pthread_mutex_lock(&lock);
    const char *had = set(program);
    if (had != ours) {
        program = had; /* the program has replaced ours, or had its own before */
        set(program);
    }
    ours = program; /* as long as there is none of ours */
    if (script != NULL) {
        ours = keep(program, script);
        set(ours);
    }
    pthread_mutex_unlock(&lock);
    return true;
}

#else

bool EtwScriptNewInterps(const char *script)
{
    (void)script;
    return false;
}

#endif
