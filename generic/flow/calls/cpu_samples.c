/*
 * flow/calls/cpu_samples.c --
 *
 *	The kernel's samples of running threads as stacks of functions. In a thread that runs Tcl, the
 *	frames of Tcl's evaluation are replaced by the procs that were open at the sample: the stack
 *	then leads from main through the procs to the C function that the innermost one runs.
 */
#include "flow/calls/call_tree_int.h"
#include "flow/track/stack_frames.h"

enum { FRAMES_MAX = 600 };

/*
 * Functions of libtcl that evaluate scripts. Stripped libraries have no names for static functions: all frames of libtcl
 * without a name are of this kind, too. So are our own hooks, through which traced commands are called.
 */
static const char *const evaluators[] = {"Tcl_EvalEx", "Tcl_EvalFile", "Tcl_EvalObjEx",
        "Tcl_EvalObjv", "Tcl_FSEvalFileEx", "Tcl_FSEvalFile", "Tcl_NRCallObjProc", "Tcl_NREvalObj",
        "Tcl_NREvalObjv", "Tcl_Eval", "TEBCresume", "TclCompEvalObj", "TclEvalEx", "TclEvalObjEx",
        "TclEvalObjv", "TclEvalObjvInternal", "TclExecuteByteCode", "TclNREvalFile",
        "TclNREvalObjEx", "TclNREvalObjv", "TclNRExecuteByteCode", "TclNRInterpProcCore",
        "TclNRInterpProc", "TclNRRunCallbacks", "TclObjInterpProc", "TclObjInterpProcCore",
        "Dispatch", "EvalObjvCore", "InterpProcNR2", "NRCommand", "NRRunObjProc", "evalNRProc",
        NULL};

static bool beginsWith(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool isEvaluation(const EtwFrame *frame)
{
    if (frame->module == NULL) {
        return false;
    }
    if (beginsWith(frame->module, "libetw") || beginsWith(frame->module, "libtcl9etw")) {
        return true;
    }
    if (!beginsWith(frame->module, "libtcl") && !beginsWith(frame->module, "tcl")) {
        return false;
    }
    if (frame->function == NULL) {
        return beginsWith(frame->module, "libtcl");
    }
    for (int i = 0; evaluators[i] != NULL; i++) {
        if (strcmp(evaluators[i], frame->function) == 0) {
            return true;
        }
    }
    return false;
}

typedef struct Frames {
    EtwText names; /* terminated by NUL each */
    size_t starts[FRAMES_MAX];
    bool evaluation[FRAMES_MAX];
    int count;
} Frames;

static void takeFrames(Frames *f, const EtwTrack *track, const EtwEvent *event)
{
    EtwFrameWalk walk;
    EtwFrameWalkBegin(&walk, track, event);
    for (const EtwFrame *frame; (frame = EtwFrameNext(&walk)) != NULL && f->count < FRAMES_MAX;) {
        f->starts[f->count] = f->names.size;
        f->evaluation[f->count++] = isEvaluation(frame);
        EtwFrameName(frame, &f->names);
        EtwTextChar(&f->names, '\0');
    }
}

/* Semicolons separate frames. */
static void addName(EtwText *stack, const char *name, size_t size)
{
    if (stack->size > 0) {
        EtwTextChar(stack, ';');
    }
    for (size_t i = 0; i < size; i++) {
        EtwTextChar(stack, name[i] == ';' ? ':' : name[i]);
    }
}

static void addFrame(EtwText *stack, const Frames *f, int index)
{
    const char *name = f->names.data + f->starts[index];
    addName(stack, name, strlen(name));
}

/* procs: the thread's open calls in the same trace; NULL: none. */
void EtwCpuStack(
        EtwText *stack, const EtwTrack *track, const EtwEvent *event, const CallThread *procs)
{
    Frames f = {.count = 0};
    int outer = -1, inner = -1; /* the evaluation frames; frames count from the innermost */
    takeFrames(&f, track, event);
    for (int i = 0; procs != NULL && procs->count > 0 && i < f.count; i++) {
        inner = f.evaluation[i] && inner < 0 ? i : inner;
        outer = f.evaluation[i] ? i : outer;
    }
    for (int i = f.count - 1; i > outer && outer >= 0; i--) {
        addFrame(stack, &f, i);
    }
    for (int i = 0; procs != NULL && i < procs->count; i++) {
        const EtwCallRow *proc = procs->stack[i]->proc;
        addName(stack, proc->name, proc->nameSize);
    }
    for (int i = (outer >= 0 ? inner : f.count) - 1; i >= 0; i--) {
        addFrame(stack, &f, i);
    }
    EtwTextFree(&f.names);
}
