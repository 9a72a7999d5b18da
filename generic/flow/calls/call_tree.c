/*
 * flow/calls/call_tree.c --
 *
 *	Pairs enters with leaves and keeps each thread's stack of open calls. A thread's calls do
 *	not nest strictly: a coroutine's yield leaves in the middle of its calls without an event,
 *	and an interpreter that calls another one counts its own depth. An enter at a depth that is
 *	occupied shows that the call there has yielded (or that its leave was lost): it is
 *	suspended. It is resumed by its own leave, or by a call made from it. call_events.c
 *	interprets the events.
 */
#include "flow/calls/call_tree_int.h"
#include "base/unicode.h"
#include "semantics/declared_events.h"

/* ---- Frames ---------------------------------------------------------------------------------- */

static uint64_t idHash(const CallThread *t, uint64_t id)
{
    return EtwHashMix(t->serial, id);
}

static CallFrame *frameById(const Calls *c, const CallThread *t, uint64_t id)
{
    CallFrame *f = (CallFrame *)EtwTableFirst(&c->open, idHash(t, id));
    while (f != NULL && (f->id != id || f->thread != t)) {
        f = (CallFrame *)f->byId.next;
    }
    return f;
}

static CallPlace *placeFind(
        const Calls *c, const CallThread *t, int depth, const EtwCallRow *proc, uint64_t *hashPtr)
{
    *hashPtr = EtwHashMix(EtwHashMix(t->serial, (uint64_t)depth), (uint64_t)(uintptr_t)proc);
    CallPlace *place = (CallPlace *)EtwTableFirst(&c->places, *hashPtr);
    while (place != NULL && (place->thread != t || place->depth != depth || place->proc != proc)) {
        place = (CallPlace *)place->node.next;
    }
    return place;
}

static void asleepAdd(Calls *c, CallFrame *f)
{
    uint64_t hash;
    CallPlace *place = placeFind(c, f->thread, f->depth, f->proc, &hash);
    if (place == NULL) {
        place = EtwAlloc(sizeof *place);
        place->thread = f->thread;
        place->proc = f->proc;
        place->depth = f->depth;
        EtwTableAdd(&c->places, &place->node, hash);
    }
    f->place = place;
    f->younger = NULL;
    f->older = place->last;
    if (f->older != NULL) {
        f->older->younger = f;
    }
    place->last = f;
    c->asleepCount++;
}

static void asleepRemove(Calls *c, CallFrame *f)
{
    *(f->younger ? &f->younger->older : &f->place->last) = f->older;
    if (f->older != NULL) {
        f->older->younger = f->younger;
    }
    c->asleepCount--;
}

static CallFrame *frameNew(Calls *c)
{
    CallFrame *f = c->freeFrames;
    if (f == NULL) {
        return EtwAlloc(sizeof *f);
    }
    EtwCosts paid = f->paid; /* reuse its memory */
    c->freeFrames = f->nextFree;
    *f = (CallFrame){.paid = {.list = paid.list, .capacity = paid.capacity}};
    return f;
}

/* ---- The stack ------------------------------------------------------------------------------- */

/* Add the time until now to the innermost call. */
static int64_t account(CallThread *t, int64_t time)
{
    time = time > t->mark ? time : t->mark;
    if (t->count > 0) {
        t->stack[t->count - 1]->self += (uint64_t)time - (uint64_t)t->mark;
    }
    t->mark = time;
    t->last = time > t->last ? time : t->last;
    return time;
}

static void push(Calls *c, CallThread *t, CallFrame *f, int interp, const CallEnter *enter)
{
    const EtwCallsWatch *watch = &c->base.config.watch;
    if (t->count == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 16;
        t->stack = EtwRealloc(t->stack, (size_t)t->capacity * sizeof(CallFrame *));
    }
    f->since = t->mark;
    f->interp = interp;
    f->below = t->interps[interp].top;
    f->index = t->count;
    f->outermost = f->use->active++ == 0;
    if (f->cause != NULL) {
        f->cause->active++;
    }
    t->interps[interp].top = t->count;
    t->stack[t->count++] = f;
    if (watch->push != NULL) {
        watch->push(watch->ctx, t->root, t->mark, f->proc, enter ? enter->command : "",
                enter ? enter->commandSize : 0);
    }
}

/* Calls of the last level share a node: only the outermost counts for its total. */
static bool isOutermostOfNode(const CallThread *t, const CallFrame *f)
{
    return t->count == 0 || t->stack[t->count - 1]->node != f->node;
}

static void chargeParent(CallThread *t, CallFrame *f)
{
    if (f->paid.count == 0) {
        return;
    }
    EtwCostAddAll(t->count > 0 ? &t->stack[t->count - 1]->paid : &t->root->stats.all, &f->paid);
    if (f->outermost && f->counted) {
        EtwCostAddAll(&f->use->row->stats.all, &f->paid);
    }
    if (f->node != NULL && isOutermostOfNode(t, f)) {
        EtwCostAddAll(&f->node->stats.all, &f->paid);
    }
    f->paid.count = 0;
}

/* Pop the innermost call and add its time to its statistics. The time must be accounted. */
static CallFrame *pop(Calls *c, CallThread *t, int code)
{
    const EtwCallsWatch *watch = &c->base.config.watch;
    CallFrame *f = t->stack[--t->count];
    uint64_t ns = (uint64_t)t->mark - (uint64_t)f->since;
    EtwCallStats *stats = &f->use->row->stats;
    f->index = -1;
    f->use->active--;
    f->total += ns;
    if (f->counted) {
        stats->total += f->outermost ? ns : 0;
        stats->self += f->self;
    }
    if (f->node != NULL) {
        f->node->stats.total += isOutermostOfNode(t, f) ? ns : 0;
        f->node->stats.self += f->self;
    }
    if (f->counted && (t->count == 0 || !t->stack[t->count - 1]->counted)) {
        t->root->stats.total += ns;
    }
    if (f->cause != NULL) {
        f->cause->total += --f->cause->active == 0 ? ns : 0;
        f->cause->self += f->self;
    }
    f->self = 0;
    t->interps[f->interp].top = f->below;
    chargeParent(t, f);
    if (watch->pop != NULL) {
        watch->pop(watch->ctx, t->root, t->mark, f->proc, code);
    }
    return f;
}

/* Suspend all calls from that index on. */
static void putAsleep(Calls *c, CallThread *t, int index)
{
    uint64_t batch = ++c->batches;
    while (t->count > index) {
        CallFrame *f = pop(c, t, ETW_CALL_OPEN);
        f->batch = batch;
        asleepAdd(c, f);
    }
}

/*
 * Resume a suspended call, and below it the callers that were suspended with it: at most
 * ETW_CALL_RESUMED, so that the cost of an event is bounded. Suspending needs no limit, because each
 * call was entered or resumed before.
 */
static void wake(Calls *c, CallThread *t, CallFrame *f, int interp)
{
    CallFrame *chain = NULL;
    uint64_t batch = f->batch;
    int count = 0;
    for (; f != NULL && f->index < 0 && f->batch == batch; count++) {
        if (count == ETW_CALL_RESUMED) {
            c->base.shortened++;
            break;
        }
        asleepRemove(c, f);
        f->batch = 0;
        f->nextFree = chain;
        chain = f;
        f = f->parentId ? frameById(c, t, f->parentId) : NULL;
    }
    for (; chain != NULL; chain = f) {
        f = chain->nextFree;
        push(c, t, chain, interp, NULL);
    }
}

/* ---- Interpreters ----------------------------------------------------------------------------------- */

enum { IDS_A_BLOCK = 256 /* of ids without interpreter */ };

static bool continues(const CallThread *t, const CallInterp *interp, int depth)
{
    return interp->lastId % IDS_A_BLOCK == 0 ||
           (depth > 1 && interp->top >= 0 && t->stack[interp->top]->depth >= depth - 1);
}

static int interpNew(CallThread *t)
{
    if (t->interpCount == t->interpCapacity) {
        t->interpCapacity = t->interpCapacity ? 2 * t->interpCapacity : 1;
        t->interps = EtwRealloc(t->interps, (size_t)t->interpCapacity * sizeof *t->interps);
    }
    t->interps[t->interpCount] = (CallInterp){.top = -1};
    return t->interpCount++;
}

static int interpOf(CallThread *t, uint64_t id, int depth)
{
    bool marked = (id & ETW_CALL_ID_MARK) != 0;
    uint64_t block =
            marked ? ETW_CALL_ID_MARK | (id % ETW_CALL_ID_INTERPS) : (id - 1) / IDS_A_BLOCK;
    int found = -1, unused = -1;
    for (int i = 0; i < t->interpCount; i++) {
        const CallInterp *interp = &t->interps[i];
        if (interp->block == block) {
            return i;
        }
        if (!marked && continues(t, interp, depth) &&
                (found < 0 || interp->top > t->interps[found].top)) {
            found = i;
        }
        unused = interp->top < 0 ? i : unused;
    }
    if (found < 0 && unused < 0 && t->interpCount < CALL_INTERPS) {
        unused = interpNew(t);
    }
    found = found >= 0 ? found : unused >= 0 ? unused : 0;
    t->interps[found].block = block;
    return found;
}

/* ---- Enter ----------------------------------------------------------------------------------- */

/* The event's caller has a leading ::, the row's name does not. */
static bool isCalled(const EtwCallRow *proc, const CallEnter *e)
{
    return e->contextSize == proc->nameSize + 2 &&
           memcmp(e->context + 2, proc->name, proc->nameSize) == 0;
}

/* The caller among the running calls of its interpreter: by depth and name, or by depth only. */
static CallFrame *runningCaller(
        CallThread *t, const CallInterp *interp, const CallEnter *e, bool named)
{
    enum { LOOK = 64 };
    int at = interp->top;
    for (int i = 0; at >= 0 && i < LOOK; i++, at = t->stack[at]->below) {
        CallFrame *f = t->stack[at];
        if (f->depth == e->depth - 1 && (!named || isCalled(f->proc, e))) {
            return f;
        }
    }
    return NULL;
}

static CallFrame *sleepingCaller(Calls *c, const CallThread *t, const CallEnter *e)
{
    if (c->asleepCount == 0 || e->contextSize < 2 || e->depth < 2) {
        return NULL;
    }
    const EtwCallRow *proc = EtwCallRowFind(c, e->context + 2, e->contextSize - 2);
    uint64_t hash;
    const CallPlace *place = proc ? placeFind(c, t, e->depth - 1, proc, &hash) : NULL;
    return place ? place->last : NULL;
}

/* Suspend the calls of the interpreter at this depth or deeper, and all calls above them. */
static void suspendAtDepth(Calls *c, CallThread *t, const CallInterp *interp, int depth)
{
    int cut = -1;
    for (int at = interp->top; at >= 0 && t->stack[at]->depth >= depth; at = t->stack[at]->below) {
        cut = at;
    }
    if (cut >= 0) {
        putAsleep(c, t, cut);
    }
}

/* Suspend the calls above the caller in its interpreter. */
static void suspendAbove(Calls *c, CallThread *t, const CallInterp *interp, const CallFrame *caller)
{
    int above = interp->top;
    if (above == caller->index) {
        return;
    }
    while (t->stack[above]->below != caller->index) {
        above = t->stack[above]->below;
    }
    putAsleep(c, t, above);
}

/* Rearrange the stack so that the caller is the innermost call of its interpreter. */
static void findCaller(Calls *c, CallThread *t, int interp, const CallEnter *e)
{
    const CallInterp *l = &t->interps[interp];
    CallFrame *caller = runningCaller(t, l, e, true);
    CallFrame *sleeper = caller ? NULL : sleepingCaller(c, t, e);
    if (sleeper != NULL) { /* the call that resumed it is below it, at any depth */
        wake(c, t, sleeper, interp);
        return;
    }
    if (caller == NULL) {
        suspendAtDepth(c, t, l, e->depth);
        caller = runningCaller(t, l, e, false);
    }
    if (caller != NULL) {
        suspendAbove(c, t, l, caller);
    }
}

/* The name is the first element of a list: plain, in braces, or with backslashes. */
static size_t nameOf(const CallEnter *e, const char **namePtr, char *capacity, size_t capacitySize)
{
    const char *s = e->command, *end = s + e->commandSize;
    size_t size = 0;
    *namePtr = s;
    if (s < end && *s == '{') {
        int level = 1;
        for (*namePtr = ++s; s < end; s++) {
            level += *s == '{' ? 1 : *s == '}' ? -1 : 0;
            if (level == 0) {
                break;
            }
        }
        return (size_t)(s - *namePtr);
    }
    while (s < end && *s != ' ' && *s != '\\') {
        s++;
    }
    if (s == end || *s == ' ') {
        return (size_t)(s - *namePtr);
    }
    for (s = e->command; s < end && *s != ' ' && size < capacitySize; s++) {
        s += *s == '\\' && s + 1 < end;
        capacity[size++] = *s;
    }
    *namePtr = capacity;
    return size;
}

/* The name of a lambda is the start of its text, without the arguments of the call. */
static size_t lambdaName(const CallEnter *e)
{
    enum { SHOWN = 72, APPLY = 6 }; /* "apply " */
    size_t size = e->commandSize > SHOWN ? EtwUtf8Cut(e->command, SHOWN) : e->commandSize;
    int level = 0;
    for (size_t i = APPLY; i < size; i++) {
        char c = e->command[i];
        level += c == '{' ? 1 : c == '}' ? -1 : 0;
        if (c == '\\') {
            i++;
        } else if (c == ' ' && level == 0) {
            return i;
        }
    }
    return size;
}

static EtwCallRow *procOf(Calls *c, const CallEnter *e)
{
    char capacity[512];
    const char *name = e->name;
    size_t size = e->nameSize;
    if (name == NULL) {
        size = nameOf(e, &name, capacity, sizeof capacity);
    }
    if (size == 5 && memcmp(name, "apply", 5) == 0) {
        name = e->command;
        size = lambdaName(e);
    }
    return EtwCallRowOf(c, name, size);
}

static EtwCallRow *lineOf(Calls *c, const CallEnter *e)
{
    EtwText name = {0};
    EtwTextAdd(&name, e->file, e->fileSize);
    if (e->fileSize == 0 && e->line == 0) {
        EtwTextStr(&name, "(no source)");
    } else {
        EtwTextPrintf(&name, ":%u", e->line);
    }
    EtwCallRow *row = EtwCallRowOf(c, name.data, name.size);
    EtwTextFree(&name);
    return row;
}

static void addToTree(Calls *c, CallThread *t, CallFrame *f, const CallEnter *e)
{
    EtwCallNode *parent = t->count > 0 ? t->stack[t->count - 1]->node : NULL;
    parent = parent != NULL ? parent : t->root; /* the caller is not counted */
    f->node = EtwCallNodeOf(c, parent, f->proc);
    if (f->node->stats.calls++ == 0) {
        f->node->start = t->mark;
    }
    if (f->node->level == ETW_CALL_LEVELS) {
        c->base.folded++;
    } else if (c->base.config.single) {
        EtwText text = {0};
        EtwTextUtf8(&text, (const uint8_t *)e->command, e->commandSize);
        EtwTextChar(&text, 0);
        f->node->text = text.data;
    }
}

static void countUse(CallUse *use, int change)
{
    use->row->stats.calls += (uint64_t)change;
    use->row->profiled = use->row->stats.calls > 0;
}

/* A call is counted if there is no config.under, or if it or one of its callers is that proc. */
static bool isCounted(const Calls *c, const CallThread *t, const EtwCallRow *proc)
{
    const char *under = c->base.config.under;
    return under == NULL || (t->count > 0 && t->stack[t->count - 1]->counted) ||
           strcmp(proc->name, under) == 0;
}

static void countCall(Calls *c, CallThread *t, CallFrame *f, const CallEnter *enter)
{
    countUse(f->use, 1);
    f->proc->idle = enter->idle;
    if (c->base.config.tree) {
        addToTree(c, t, f, enter);
    }
    t->root->stats.calls++;
    c->base.calls++;
}

void EtwCallEnterAt(Calls *c, CallThread *t, int64_t time, const CallEnter *enter)
{
    account(t, time);
    if (frameById(c, t, enter->id) != NULL) {
        return; /* duplicate record: overlapping files */
    }
    int interp = interpOf(t, enter->id, enter->depth);
    findCaller(c, t, interp, enter);
    CallFrame *f = frameNew(c);
    f->thread = t;
    f->id = enter->id;
    f->depth = enter->depth;
    f->entered = t->mark;
    f->proc = procOf(c, enter);
    f->use = EtwCallUseOf(c, t, c->base.config.byLine ? lineOf(c, enter) : f->proc);
    f->placeless = c->base.config.byLine && enter->fileSize == 0 && enter->line == 0;
    const CallFrame *caller = t->interps[interp].top >= 0 ? t->stack[t->interps[interp].top] : NULL;
    f->parentId = caller != NULL ? caller->id : 0;
    f->nested =
            caller != NULL && caller->depth == enter->depth - 1 && isCalled(caller->proc, enter);
    f->counted = isCounted(c, t, f->proc);
    if (f->counted) {
        countCall(c, t, f, enter);
    }
    f->cause = c->base.config.causes ? EtwCallCauseOf(c, t, f->proc, enter) : NULL;
    EtwTableAdd(&c->open, &f->byId, idHash(t, f->id));
    t->interps[interp].lastId = enter->id;
    push(c, t, f, interp, enter);
}

/* ---- Leave ----------------------------------------------------------------------------------- */

static void drop(Calls *c, CallFrame *f)
{
    EtwTableRemove(&c->open, &f->byId);
    f->nextFree = c->freeFrames;
    c->freeFrames = f;
}

enum { GROWTH_CALLS = 64 }; /* fewer have no trend */

double EtwCallGrowthOf(const EtwCallRow *row)
{
    const EtwCallGrowth *g = &row->growth;
    return g->size >= GROWTH_CALLS && g->means[2] > 0 ? g->means[0] / g->means[2] : 0;
}

/* A single call may take long because the thread had no CPU: what is beyond a rise of 8 times does not count. */
static void recordGrowth(EtwCallGrowth *g, uint64_t ns)
{
    enum { RISE = 8 };
    if (g->means[0] > 0 && (double)ns > RISE * g->means[0]) {
        ns = (uint64_t)(RISE * g->means[0]);
    }
    g->size += g->size == 0;
    g->sum += ns;
    if (++g->count == g->size) {
        g->means[2] = g->means[1];
        g->means[1] = g->means[0];
        g->means[0] = (double)g->sum / (double)g->count;
        g->size *= 2;
        g->count = g->sum = 0;
    }
}

static void recordTime(EtwCallStats *stats, uint64_t ns, int code)
{
    stats->min = stats->min == 0 || ns < stats->min ? ns : stats->min;
    stats->max = ns > stats->max ? ns : stats->max;
    stats->errors += code == 1;
}

void EtwCallLeaveAt(Calls *c, CallThread *t, int64_t time, uint64_t id, int code)
{
    account(t, time);
    CallFrame *f = t->count > 0 && t->stack[t->count - 1]->id == id ? t->stack[t->count - 1]
                                                                    : frameById(c, t, id);
    if (f == NULL) {
        c->base.unmatched++;
        return;
    }
    if (f->index < 0) {
        int interp = f->interp;
        wake(c, t, f, interp);
    }
    putAsleep(c, t, f->index + 1);
    pop(c, t, code);
    if (f->counted) {
        recordTime(&f->use->row->stats, f->total - f->booked, code);
        EtwHistogramAdd(&f->use->row->times, f->total - f->booked);
        recordGrowth(&f->use->row->growth, f->total - f->booked);
    }
    if (f->cause != NULL) {
        f->cause->errors += code == 1;
    }
    if (f->node != NULL) {
        recordTime(&f->node->stats, f->total, code);
        f->node->code = code;
        f->node->slept += (uint64_t)t->mark - (uint64_t)f->entered - f->total;
    }
    drop(c, f);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* The time before the first line of a call is assigned to that line. */
static void assignFirstLine(CallFrame *f, CallUse *use)
{
    if (f->counted) {
        countUse(f->use, -1);
    }
    f->use->active--;
    f->use = use;
    f->outermost = f->use->active++ == 0;
    f->placeless = false;
}

static void assignNextLine(Calls *c, CallThread *t, CallFrame *f, CallUse *use)
{
    pop(c, t, ETW_CALL_OPEN);
    if (f->counted) {
        recordTime(&f->use->row->stats, f->total - f->booked, 0);
        EtwHistogramAdd(&f->use->row->times, f->total - f->booked);
    }
    f->booked = f->total;
    f->use = use;
    push(c, t, f, f->interp, NULL);
}

/* The beginning of a line's text. The caller frees it. */
static char *lineText(const CallEnter *line)
{
    enum { SHOWN = 80 };
    EtwText text = {0};
    size_t size = line->commandSize > SHOWN ? EtwUtf8Cut(line->command, SHOWN) : line->commandSize;
    EtwTextUtf8(&text, (const uint8_t *)line->command, size);
    EtwTextChar(&text, 0);
    return text.data;
}

void EtwCallLineAt(Calls *c, CallThread *t, int64_t time, const CallEnter *line)
{
    account(t, time);
    CallFrame *f = frameById(c, t, line->id);
    if (f == NULL) {
        return;
    }
    if (f->index < 0) {
        wake(c, t, f, f->interp);
    }
    suspendAbove(c, t, &t->interps[f->interp], f);
    if (f->index != t->count - 1) {
        return; /* a call of another interpreter has no leave: it was lost */
    }
    CallUse *use = EtwCallUseOf(c, t, lineOf(c, line));
    if (use->row->text == NULL && line->commandSize > 0) {
        use->row->text = lineText(line);
    }
    if (f->placeless) {
        assignFirstLine(f, use);
    } else {
        assignNextLine(c, t, f, use);
    }
    if (f->counted) {
        countUse(use, 1);
    }
}

/* ---- Threads --------------------------------------------------------------------------------- */

CallThread *EtwCallThreadById(Calls *c, uint32_t tid)
{
    CallThread *t = c->lastThread;
    if (t != NULL && t->tid == tid && !t->ended) {
        return t;
    }
    t = (CallThread *)EtwTableFirst(&c->threads, EtwHashNumber(tid));
    while (t != NULL && t->tid != tid) {
        t = (CallThread *)t->node.next;
    }
    c->lastThread = t != NULL ? t : c->lastThread;
    return t;
}

static CallProcess *processFind(const Calls *c, uint32_t pid)
{
    CallProcess *p = (CallProcess *)EtwTableFirst(&c->processes, EtwHashNumber(pid));
    while (p != NULL && p->pid != pid) {
        p = (CallProcess *)p->node.next;
    }
    return p;
}

static void joinProcess(Calls *c, CallThread *t)
{
    CallProcess *p = processFind(c, t->pid);
    if (p == NULL) {
        p = EtwAlloc(sizeof *p);
        p->pid = t->pid;
        EtwTableAdd(&c->processes, &p->node, EtwHashNumber(p->pid));
    }
    t->process = p;
    t->nextOfProcess = p->first;
    if (p->first != NULL) {
        p->first->previousOfProcess = t;
    }
    p->first = t;
}

static void leaveProcess(CallThread *t)
{
    *(t->previousOfProcess ? &t->previousOfProcess->nextOfProcess : &t->process->first) =
            t->nextOfProcess;
    if (t->nextOfProcess != NULL) {
        t->nextOfProcess->previousOfProcess = t->previousOfProcess;
    }
}

static CallThread *threadNew(Calls *c, const EtwEvent *event)
{
    CallThread *t = EtwAlloc(sizeof *t);
    t->pid = event->pid;
    t->tid = event->tid;
    t->serial = ++c->serials;
    t->mark = t->last = event->time;
    t->root = EtwAlloc(sizeof *t->root);
    t->root->pid = t->pid;
    t->root->tid = t->tid;
    t->root->start = event->time;
    t->root->process = event->process ? EtwStrdup(event->process) : NULL;
    if (c->lastRoot != NULL) {
        c->lastRoot->next = t->root;
    } else {
        c->base.threads = t->root;
    }
    c->lastRoot = t->root;
    EtwTableAdd(&c->threads, &t->node, EtwHashNumber(t->tid));
    joinProcess(c, t);
    *c->threadsEnd = t;
    c->threadsEnd = &t->nextThread;
    return t;
}

CallThread *EtwCallThreadOf(Calls *c, const EtwEvent *event, bool enter)
{
    CallThread *t = EtwCallThreadById(c, event->tid);
    if (t != NULL && t->pid != event->pid) {
        if (!enter) {
            return NULL;
        }
        EtwCallThreadEnd(c, t); /* the id was reused */
        t = NULL;
    }
    return t == NULL && enter ? threadNew(c, event) : t;
}

EtwCallNode *EtwCallsInnermost(EtwCalls *calls, const EtwEvent *event)
{
    CallThread *t = EtwCallThreadOf((Calls *)calls, event, false);
    if (t == NULL) {
        return NULL;
    }
    EtwCallNode *node = t->count > 0 ? t->stack[t->count - 1]->node : NULL;
    return node != NULL ? node : t->root;
}

/* Why a call was never left. */
typedef enum Open { CUT, ASLEEP, LOST } Open;

static void markOpen(Calls *c, CallFrame *f, Open why)
{
    EtwCallStats *stats[3] = {
            &f->use->row->stats, &f->thread->root->stats, f->node ? &f->node->stats : NULL};
    if (!f->counted) {
        return;
    }
    for (int i = 0; i < 3; i++) {
        if (stats[i] != NULL) {
            stats[i]->cut += why == CUT;
            stats[i]->asleep += why == ASLEEP;
            stats[i]->lost += why == LOST;
        }
    }
    c->base.cut += why == CUT;
    c->base.asleep += why == ASLEEP;
    c->base.lost += why == LOST;
}

void EtwCallThreadEnd(Calls *c, CallThread *t)
{
    account(t, t->last);
    while (t->count > 0) {
        CallFrame *f = pop(c, t, ETW_CALL_OPEN);
        markOpen(c, f, CUT);
        f->batch = 0; /* it stays in the table: markAsleep looks for callers that were left */
    }
    EtwFree(t->stack);
    EtwTextFree(&t->offStack);
    t->stack = NULL;
    t->capacity = 0;
    t->ended = true;
    EtwCallForget(c, t->pid, t->tid);
    EtwTableRemove(&c->threads, &t->node);
    leaveProcess(t);
    c->lastThread = NULL;
}

void EtwCallProcessEnd(Calls *c, uint32_t pid)
{
    const CallProcess *p = processFind(c, pid);
    while (p != NULL && p->first != NULL) {
        EtwCallThreadEnd(c, p->first);
    }
}

void EtwCallCharge(Calls *c, CallThread *t, const EtwCost *cost)
{
    const EtwCallsWatch *watch = &c->base.config.watch;
    if (watch->spent != NULL && cost->ns > 0) {
        watch->spent(watch->ctx, t->root, t->last, cost);
    }
    if (t->count == 0) {
        EtwCostAdd(&t->root->stats.own, cost);
        EtwCostAdd(&t->root->stats.all, cost);
        return;
    }
    CallFrame *f = t->stack[t->count - 1];
    if (!f->counted) {
        return;
    }
    EtwCostAdd(&f->paid, cost);
    EtwCostAdd(&f->use->row->stats.own, cost);
    if (f->node != NULL) {
        EtwCostAdd(&f->node->stats.own, cost);
    }
}

/* ---- Begin and end --------------------------------------------------------------------------- */

EtwCalls *EtwCallsNew(const EtwCallsConfig *config, EtwSchemaStore *store)
{
    Calls *c = EtwAlloc(sizeof *c);
    c->base.config = *config;
    c->store = store;
    c->rowsEnd = &c->base.rows;
    c->threadsEnd = &c->firstThread;
    return &c->base;
}

/*
 * A suspended call. A coroutine's calls nest, too: if the caller was left, so was the call before. Its
 * leave is missing.
 */
static void markAsleep(void *ctx, EtwTableNode *node)
{
    Calls *c = ctx;
    CallFrame *f = (CallFrame *)node;
    if (f->index < 0 && f->batch != 0) {
        bool left = f->nested && frameById(c, f->thread, f->parentId) == NULL;
        markOpen(c, f, left ? LOST : ASLEEP);
        f->batch = 0;
    }
}

void EtwCallsEnd(EtwCalls *calls)
{
    Calls *c = (Calls *)calls;
    for (CallThread *t = c->firstThread; t != NULL; t = t->nextThread) {
        if (!t->ended) {
            EtwCallThreadEnd(c, t);
        }
    }
    EtwTableVisit(&c->open, markAsleep, c);
    EtwCallCausesEnd(c);
}

static void freeFrame(CallFrame *f)
{
    EtwFree(f->paid.list);
    EtwFree(f);
}

static void freeOpen(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    freeFrame((CallFrame *)node);
}

static void freeNode(void *ctx, EtwTableNode *node)
{
    EtwCallNode *n = (EtwCallNode *)node;
    (void)ctx;
    EtwCallStatsFree(&n->stats);
    EtwFree(n->text);
    EtwFree(n->process);
    EtwFree(n);
}

static void freeRow(void *ctx, EtwTableNode *node)
{
    EtwCallRow *row = (EtwCallRow *)node;
    (void)ctx;
    EtwCallStatsFree(&row->stats);
    EtwHistogramFree(&row->times);
    EtwFree(row->name);
    EtwFree(row->text);
    EtwFree(row);
}

static void freeClass(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(((EtwCostClass *)node)->name);
    EtwFree(node);
}

static void freePlain(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

static void freeThreads(Calls *c)
{
    for (CallThread *t = c->firstThread, *next; t != NULL; t = next) {
        next = t->nextThread;
        freeNode(NULL, &t->root->node);
        EtwTextFree(&t->offStack);
        EtwFree(t->stack);
        EtwFree(t->interps);
        EtwFree(t);
    }
    EtwFree(c->threads.slots);
    EtwTableFree(&c->processes, freePlain);
}

void EtwCallsFree(EtwCalls *calls)
{
    Calls *c = (Calls *)calls;
    EtwTableFree(&c->open, freeOpen);
    for (CallFrame *f = c->freeFrames, *next; f != NULL; f = next) {
        next = f->nextFree;
        freeFrame(f);
    }
    EtwTableFree(&c->places, freePlain);
    freeThreads(c);
    EtwTableFree(&c->nodes, freeNode);
    EtwTableFree(&c->rows, freeRow);
    EtwTableFree(&c->classes, freeClass);
    EtwTableFree(&c->uses, freePlain);
    EtwCallClassesFree(c);
    EtwCallChannelsFree(c);
    EtwCallCausesFree(c);
    if (c->procs != NULL) {
        EtwCallsFree(c->procs);
    }
    EtwFree(c);
}
