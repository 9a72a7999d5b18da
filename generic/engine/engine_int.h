/*
 * engine/engine_int.h --
 *
 *	The functions that an engine implements, as a table. dispatch.c chooses an engine for each call of
 *	engine.h. Names are passed without an engine's prefix. errPtr may be NULL, and infoPtr too, except
 *	for `query`.
 */
#ifndef ETW_ENGINE_INT_H
#define ETW_ENGINE_INT_H

#include "engine/engine.h"

typedef bool EtwSessionVisit(void *ctx, const EtwSessionInfo *info);
typedef bool EtwProviderVisit(void *ctx, const EtwProviderInfo *info);

typedef struct EtwEngineOps {
    const char *name; /* as in -engine, and before the colon of a session's name */
    /* ETW_OK: such a session runs; ETW_E_LOOKUP: none does; ETW_E_ACCESS: this user may not know;
     * ETW_E_STATE: the registry is locked. */
    EtwStatus (*has)(const char *name);
    EtwStatus (*start)(const EtwSessionConfig *config, EtwError *errPtr);
    EtwStatus (*stop)(const char *name, EtwSessionInfo *infoPtr, EtwError *errPtr);
    EtwStatus (*flush)(const char *name, EtwSessionInfo *infoPtr, EtwError *errPtr);
    EtwStatus (*query)(const char *name, EtwSessionInfo *infoPtr, EtwError *errPtr);
    EtwStatus (*update)(const char *name, const EtwSessionConfig *changes, EtwSessionInfo *infoPtr,
            EtwError *errPtr);
    EtwStatus (*snapshot)(
            const char *name, const char *file, EtwSessionInfo *infoPtr, EtwError *errPtr);
    EtwStatus (*mark)(const char *name, const char *text, EtwError *errPtr);
    void (*list)(EtwSessionVisit *visit, void *ctx);
    EtwStatus (*enable)(const char *name, const EtwEnable *enable, EtwError *errPtr);
    EtwStatus (*disable)(const char *name, const EtwGuid *provider, EtwError *errPtr);
    EtwStatus (*enableKernel)(const char *name, const EtwKernelEnable *enable, EtwError *errPtr);
    EtwStatus (*disableKernel)(const char *name, EtwError *errPtr);
    void (*providers)(EtwProviderVisit *visit, void *ctx);
    void (*providerState)(EtwProviderInfo *info); /* add this engine's sessions; may be NULL */
    EtwStatus (*liveOpen)(const char *name, EtwLive **livePtr, EtwError *errPtr);
} EtwEngineOps;

typedef struct EtwLiveOps {
    EtwStatus (*next)(EtwLive *live, EtwEvent *event);
    void (*wait)(EtwLive *live, int64_t timeoutNs);
    void (*wake)(EtwLive *live);
    uint64_t (*lost)(const EtwLive *live);
    void (*close)(EtwLive *live);
} EtwLiveOps;
/* The first member of each engine's own struct. */
struct EtwLive {
    const EtwLiveOps *ops;
};

extern const EtwEngineOps etwEmbeddedOps; /* session.c */
/*
 * Autologgers, sessions that Windows starts when it boots, as a third engine "autologger", whose sessions
 * are configurations (win/system/system_autologger.c). NULL: not Windows, with the reason in *errPtr.
 */
const EtwEngineOps *EtwAutologgerOps(EtwError *errPtr);
/*
 * The operating system's own tracing (win/system/system_session.c). NULL: not available here, with the
 * reason in *errPtr.
 */
const EtwEngineOps *EtwSystemOps(EtwError *errPtr);

#endif
