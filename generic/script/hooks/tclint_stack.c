/*
 * script/hooks/tclint_stack.c --
 *
 *	The call stack of an interpreter as text: procs, methods and lambdas, outermost first,
 *	separated by semicolons (the format of flame graphs). Names are taken from the frames
 *	without looking up commands.
 */
#include "script/hooks/tclint.h"
#include "base/unicode.h"

#ifdef ETW_TCLINT

typedef struct Out {
    char *text;
    size_t size, capacity;
} Out;

/* Characters that separate frames or lines are replaced. */
static void add(Out *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size && out->size + 1 < out->capacity; i++) {
        char c = text[i];
        out->text[out->size++] = c == ';' ? ',' : (uint8_t)c < ' ' ? ' ' : c;
    }
}

/* Truncates between characters only. Redaction recognises a part of a secret by the dots. */
static void addStart(Out *out, const char *text)
{
    enum { SHOWN = 60 };
    size_t size = strlen(text);
    add(out, text, size > SHOWN ? EtwUtf8Cut(text, SHOWN) : size);
    if (size > SHOWN) {
        add(out, "...", 3);
    }
}

static const char *tailOf(const char *name)
{
    const char *tail = name + strlen(name);
    while (tail > name && !(tail[-1] == ':' && tail - name > 1 && tail[-2] == ':')) {
        tail--;
    }
    return tail;
}

static void addQualified(Out *out, const Namespace *ns, const char *name)
{
    if (ns->parentPtr != NULL) {
        add(out, ns->fullName + 2, strlen(ns->fullName + 2));
        add(out, "::", 2);
    }
    add(out, name, strlen(name));
}

static void addMethod(Out *out, const CallFrame *frame)
{
    const EtwHook *hook = EtwTclintMethodOf(frame);
    const CallContext *context = frame->clientData;
    if (hook != NULL) {
        add(out, hook->name + 2, hook->nameSize - 2);
        return;
    }
    const Method *method = context->callPtr->chain[context->index].mPtr;
    const Object *owner = method->declaringClassPtr ? method->declaringClassPtr->thisPtr
                                                    : method->declaringObjectPtr;
    const Command *cmd = owner ? (const Command *)owner->command : NULL;
    if (cmd != NULL && cmd->hPtr != NULL) {
        addQualified(out, cmd->nsPtr, Tcl_GetHashKey(cmd->hPtr->tablePtr, cmd->hPtr));
        add(out, "::", 2);
    }
    const char *name = method->namePtr                         ? Tcl_GetString(method->namePtr)
                       : context->callPtr->flags & CONSTRUCTOR ? "<constructor>"
                                                               : "<destructor>";
    add(out, name, strlen(name));
}

static void addFrame(Out *out, const CallFrame *frame)
{
    if (frame->isProcCallFrame & FRAME_IS_METHOD) {
        addMethod(out, frame);
    } else if (frame->isProcCallFrame & FRAME_IS_LAMBDA) {
        add(out, "apply ", 6);
        addStart(out, frame->objc > 1 ? Tcl_GetString(frame->objv[1]) : "");
    } else {
        addQualified(
                out, frame->nsPtr, frame->objc > 0 ? tailOf(Tcl_GetString(frame->objv[0])) : "?");
    }
}

void EtwTclintStack(EtwScriptState *state, char *text, size_t capacity, int *depthPtr)
{
    enum { DEEPEST = 100 };
    const CallFrame *frames[DEEPEST];
    Out out = {text, 0, capacity};
    int count = 0;
    const CallFrame *frame = ((Interp *)state->interp)->framePtr;
    for (; frame != NULL && count < DEEPEST; frame = frame->callerPtr) {
        if (frame->isProcCallFrame & FRAME_IS_PROC) {
            frames[count++] = frame;
        }
    }
    if (frame != NULL) {
        add(&out, "...", 3); /* only the outermost frames are dropped */
    }
    for (int i = count; i-- > 0;) {
        if (out.size > 0 && out.size + 1 < capacity) {
            text[out.size++] = ';';
        }
        addFrame(&out, frames[i]);
    }
    text[out.size] = '\0';
    *depthPtr = count;
}

#endif
