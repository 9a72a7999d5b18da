/*
 * tcl/command/pkgconfig_cmd.c --
 *
 *	etw pkgconfig list|get KEY: properties of this build and of the system, in the form of Tcl's
 *	own ::tcl::pkgconfig. Tests derive their constraints from it.
 */
#include "tcl/core/tclglue.h"
#include "base/os.h"
#include "engine/engine_int.h"
#include "script/script_int.h"
#include "symbol/symbols.h"

/* The engine that -engine auto selects. */
static const char *engineName(void)
{
    const EtwEngineOps *system = EtwSystemOps(NULL);
    return system != NULL ? system->name : etwEmbeddedOps.name;
}

/*
 * The environment in which the engine "system" was tested. To become "windows" after a test on a
 * real Windows.
 */
static const char *systemTested(void)
{
#ifdef _WIN32
    return "simulated";
#else
    return "none";
#endif
}

static const char *clockName(void)
{
    static const char *const names[] = {"", "tsc", "monotonic_raw", "qpc"};
    return names[osClock];
}

static const char *kernelSupport(void)
{
#ifdef __linux__
    return "1";
#else
    return "0";
#endif
}

static const char *testPoints(void)
{
#ifdef ETW_TEST_POINTS
    return "1";
#else
    return "0";
#endif
}

static const char *threads(void)
{
#if defined(TCL_THREADS) || TCL_MAJOR_VERSION >= 9
    return "1";
#else
    return "0";
#endif
}

/*
 * How scripts are hooked: "swap" through Tcl's private structures, "trace" through its public API.
 */
static const char *hooks(void)
{
    const EtwHookLayer *layer = etwHookLayer != NULL ? etwHookLayer : EtwHookLayerGet();
    return layer->name;
}

/* Whether the library has static probes (USDT). */
static const char *probes(void)
{
#ifdef ETW_HAVE_SDT
    return "1";
#else
    return "0";
#endif
}

/* Whether names of functions can be read from ELF files. */
static const char *libdw(void)
{
    return EtwSymbolsLackElf() == NULL ? "1" : "0";
}

static const char *compiler(void)
{
    return __VERSION__;
}

static const char *packageVersion(void)
{
    return PACKAGE_VERSION;
}

static const char *tclVersion(void)
{
    return TCL_PATCH_LEVEL;
}

/* The libraries that a C program needs in addition to libetwcore.a. */
static const char *libs(void)
{
    return ETW_LINK_LIBS;
}

static const struct {
    const char *key;
    const char *(*value)(void);
} entries[] = {
        {"clock", clockName},
        {"compiler", compiler},
        {"engine", engineName},
        {"hooks", hooks},
        {"kernel", kernelSupport},
        {"libdw", libdw},
        {"libs", libs},
        {"probes", probes},
        {"system", systemTested},
        {"tcl", tclVersion},
        {"testpoints", testPoints},
        {"threaded", threads},
        {"version", packageVersion},
        {NULL, NULL},
};

static int listCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    (void)clientData;
    (void)objc;
    (void)objv;

    for (int i = 0; entries[i].key != NULL; i++) {
        Tcl_ListObjAppendElement(NULL, list, Tcl_NewStringObj(entries[i].key, -1));
    }
    Tcl_SetObjResult(interp, list);
    return TCL_OK;
}

static int getCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    int index;
    (void)clientData;
    (void)objc;

    if (Tcl_GetIndexFromObjStruct(
                interp, objv[2], entries, sizeof entries[0], "key", TCL_EXACT, &index) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, Tcl_NewStringObj(entries[index].value(), -1));
    return TCL_OK;
}

int EtwPkgconfigCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    static const EtwSubCommand subCommands[] = {
            {"get", getCmd, "key", 1, 1},
            {"list", listCmd, "", 0, 0},
            {NULL, NULL, NULL, 0, 0},
    };
    return EtwDispatch(subCommands, clientData, interp, objc, objv);
}
