/*
 * flow/source/perf/perf_tasks.c --
 *
 *	Names of threads, beginning and end of threads and processes, and their images. Records without a
 *	time describe what was there when perf began.
 */
#include "flow/source/perf/perf_int.h"

/* ---- Tables ---------------------------------------------------------------------------------- */

static PerfTask *findTask(const EtwPerfReader *r, uint32_t tid)
{
    EtwTableNode *n = EtwTableFirst(&r->tasks.tasks, EtwHashNumber(tid));
    while (n != NULL && ((PerfTask *)n)->tid != tid) {
        n = n->next;
    }
    return (PerfTask *)n;
}

static PerfProcess *findProcess(const EtwPerfReader *r, uint32_t pid)
{
    EtwTableNode *n = EtwTableFirst(&r->tasks.processes, EtwHashNumber(pid));
    while (n != NULL && ((PerfProcess *)n)->pid != pid) {
        n = n->next;
    }
    return (PerfProcess *)n;
}

static PerfTask *taskOf(EtwPerfReader *r, uint32_t pid, uint32_t tid)
{
    PerfTask *task = findTask(r, tid);
    if (task != NULL) {
        return task;
    }
    task = EtwAlloc(sizeof *task);
    task->tid = tid;
    task->pid = pid;
    EtwTableAdd(&r->tasks.tasks, &task->node, EtwHashNumber(tid));
    PerfProcess *process = findProcess(r, pid);
    if (process == NULL) {
        process = EtwAlloc(sizeof *process);
        process->pid = pid;
        EtwTableAdd(&r->tasks.processes, &process->node, EtwHashNumber(pid));
    }
    process->threads++;
    return task;
}

/* True if it was the last thread of its process. */
static bool endTask(EtwPerfReader *r, uint32_t pid, uint32_t tid)
{
    PerfTask *task = findTask(r, tid);
    PerfProcess *process = findProcess(r, task != NULL ? task->pid : pid);
    if (task != NULL) {
        EtwTableRemove(&r->tasks.tasks, &task->node);
        EtwFree(task);
    }
    if (process == NULL) {
        return pid == tid;
    }
    if (task != NULL && --process->threads == 0) {
        EtwTableRemove(&r->tasks.processes, &process->node);
        EtwFree(process);
        return true;
    }
    return false;
}

void PerfPutComm(EtwPerfReader *r, uint32_t tid)
{
    const PerfTask *task = findTask(r, tid);
    PerfPutBytes(r, task != NULL ? task->comm : "", task != NULL ? task->commSize : 0);
}

static void freeNode(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

void PerfTasksFree(EtwPerfReader *r)
{
    EtwTableFree(&r->tasks.tasks, freeNode);
    EtwTableFree(&r->tasks.processes, freeNode);
    EtwImagesFree(&r->images);
}

/* ---- Images ---------------------------------------------------------------------------------- */

static void emitImage(EtwPerfReader *r, PerfDeclared which, const PerfMoment *m, uint32_t pid,
        const EtwImage *image)
{
    char build[ETW_BUILD_ID_TEXT];
    PerfPut64(r, image->base);
    PerfPut64(r, image->size);
    PerfPut32(r, pid);
    PerfPut64(r, image->offset);
    PerfPutBytes(r, image->path, image->pathSize);
    EtwBuildIdText(image->build, image->buildSize, build);
    PerfPutText(r, build);
    PerfEmitDeclared(r, which, m);
}

/*
 * False: too many events for the size of the input. A file of small records could otherwise fork a process
 * with thousands of images a million times.
 */
static bool mayInherit(EtwPerfReader *r, const EtwImageProcess *p)
{
    enum { FREE = 32 << 20, RATIO = 64, EVENT = 256 };
    uint64_t most = FREE + RATIO * (r->in.at + r->unpackedBytes), cost = 0;
    for (int i = 0; i < p->count; i++) {
        cost += EVENT + p->images[i].of.pathSize;
    }
    if (cost > most || r->inherited > most - cost) {
        return false;
    }
    r->inherited += cost;
    return true;
}

static void unload(EtwPerfReader *r, const PerfMoment *m, uint32_t pid)
{
    EtwImageProcess *p = EtwImagesFind(&r->images, pid);
    if (p == NULL) {
        return;
    }
    if (mayInherit(r, p)) {
        for (int i = 0; i < p->count; i++) {
            emitImage(r, PERF_IMAGE_UNLOAD, m, pid, &p->images[i].of);
        }
    }
    EtwImagesRemove(&r->images, p);
}

/* A child without an exec runs with the images of its parent. */
static void inherit(EtwPerfReader *r, const PerfMoment *m, uint32_t parent, uint32_t child)
{
    const EtwImageProcess *from = EtwImagesFind(&r->images, parent);
    PerfMoment mine = *m;
    mine.pid = mine.tid = child;
    if (from == NULL || parent == child || !mayInherit(r, from)) {
        return;
    }
    for (int i = 0; i < from->count; i++) {
        EtwImagesAdd(&r->images, child, &from->images[i].of, false);
        emitImage(r, PERF_IMAGE_START, &mine, child, &from->images[i].of);
    }
}

static bool hasPrefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* perf's names of the kernel and its modules become ours: [kernel], [MODULE]. False: another mapping. */
static bool kernelName(const char *path, EtwText *name)
{
    if (hasPrefix(path, "[kernel.kallsyms]") || hasPrefix(path, "[kernel]")) {
        EtwTextStr(name, "[kernel]");
    } else if (path[0] == '[') {
        if (strchr(path, ' ') != NULL) {
            return false;
        }
        EtwTextStr(name, path);
    } else if (path[0] == '/') {
        const char *file = strrchr(path, '/') + 1;
        EtwTextChar(name, '[');
        for (; *file != 0 && !hasPrefix(file, ".ko"); file++) {
            EtwTextChar(name, (char)(*file == '-' ? '_' : *file));
        }
        EtwTextChar(name, ']');
    } else {
        return false;
    }
    return true;
}

static void addBuildId(const EtwPerfReader *r, EtwImage *image, const char *path, size_t size)
{
    const PerfBuildId *id = image->buildSize == 0 ? PerfBuildIdOf(r, path, size) : NULL;
    if (id != NULL) {
        image->buildSize = id->size;
        memcpy(image->build, id->id, sizeof image->build);
    }
}

/* The build ids of the kernel are stored by the name "[kernel.kallsyms]". */
static void mapKernel(EtwPerfReader *r, const PerfMoment *m, EtwImage *image)
{
    static const char kernel[] = "[kernel.kallsyms]";
    EtwText name = {0};
    PerfMoment mine = *m;
    mine.pid = mine.tid = 0;
    if (kernelName(image->path, &name)) {
        if (hasPrefix(image->path, kernel)) {
            addBuildId(r, image, kernel, sizeof kernel - 1);
        } else {
            addBuildId(r, image, image->path, image->pathSize);
        }
        image->offset = 0;
        image->path = name.data;
        image->pathSize = name.size;
        emitImage(r, m->time != 0 ? PERF_IMAGE_LOAD : PERF_IMAGE_START, &mine, 0, image);
    }
    EtwTextFree(&name);
}

/* b: the record after its header, without the part that all records have at their end. */
void PerfOnMmap(EtwPerfReader *r, const PerfMoment *m, EtwBytes *b, PerfHeader head)
{
    enum { IDS = 24 /* device, inode; or size and build id */, PATH_MAX_BYTES = 4096 };
    EtwImage image = {0};
    uint32_t pid = EtwTake32(b);
    uint32_t tid = EtwTake32(b), protection = PERF_PROT_EXEC;
    image.base = EtwTake64(b);
    image.size = EtwTake64(b);
    image.offset = EtwTake64(b);
    if (head.type == RECORD_MMAP2) {
        const uint8_t *ids = EtwTake(b, IDS);
        protection = EtwTake32(b);
        EtwTake32(b); /* flags */
        if (ids != NULL && head.misc & MISC_MMAP_BUILD_ID && ids[0] <= ETW_BUILD_ID_MAX) {
            image.buildSize = ids[0];
            memcpy(image.build, ids + 4, ETW_BUILD_ID_MAX);
        }
    } else if (head.misc & MISC_MMAP_DATA) {
        protection = 0;
    }
    const uint8_t *nul = EtwBytesLeft(b) != 0 ? memchr(b->at, 0, EtwBytesLeft(b)) : NULL;
    if (b->failed || nul == NULL || nul - b->at > PATH_MAX_BYTES) {
        r->malformed++;
        return;
    }
    image.path = (const char *)b->at;
    image.pathSize = (size_t)(nul - b->at);
    if ((protection & PERF_PROT_EXEC) == 0 || image.size == 0 ||
            image.base + (image.size - 1) < image.base) {
        return;
    }
    if (pid == UINT32_MAX || (head.misc & MISC_CPUMODE) == MISC_KERNEL) {
        mapKernel(r, m, &image);
    } else if (EtwImageIsFile(image.path)) {
        PerfMoment mine = *m;
        mine.pid = pid;
        mine.tid = tid;
        addBuildId(r, &image, image.path, image.pathSize);
        EtwImagesAdd(&r->images, pid, &image, false);
        emitImage(r, m->time != 0 ? PERF_IMAGE_LOAD : PERF_IMAGE_START, &mine, pid, &image);
    }
}

/* ---- Threads and processes ------------------------------------------------------------------- */

/* A name by exec, by a program's wish, or of a task that was there already. */
void PerfOnComm(EtwPerfReader *r, const PerfMoment *m, EtwBytes *b, uint16_t misc)
{
    uint32_t pid = EtwTake32(b), tid = EtwTake32(b);
    PerfMoment mine = *m;
    mine.pid = pid;
    mine.tid = tid;
    if (b->failed) {
        r->malformed++;
        return;
    }
    PerfTask *task = taskOf(r, pid, tid);
    size_t size = strnlen((const char *)b->at, EtwBytesLeft(b));
    task->commSize = (uint8_t)(size < PERF_COMM ? size : PERF_COMM - 1);
    memcpy(task->comm, b->at, task->commSize);
    bool exec = (misc & MISC_COMM_EXEC) != 0 && m->time != 0;
    if (exec) {
        unload(r, &mine, pid);
    }
    if (exec) {
        PerfPutComm(r, tid);
        PerfEmitDeclared(r, PERF_PROCESS_EXEC, &mine);
    } else if (pid == tid) {
        PerfPutComm(r, tid);
        PerfEmitDeclared(r, PERF_PROGRAM, &mine);
    }
}

typedef struct TaskRecord {
    uint32_t pid, ppid, tid, ptid;
} TaskRecord;

static bool takeTask(EtwPerfReader *r, EtwBytes *b, TaskRecord *t)
{
    t->pid = EtwTake32(b);
    t->ppid = EtwTake32(b);
    t->tid = EtwTake32(b);
    t->ptid = EtwTake32(b);
    r->malformed += b->failed;
    return !b->failed;
}

void PerfOnFork(EtwPerfReader *r, const PerfMoment *m, EtwBytes *b)
{
    TaskRecord t;
    if (!takeTask(r, b, &t)) {
        return;
    }
    endTask(r, t.pid, t.tid); /* the end of an earlier one with this number was lost */
    PerfTask *task = taskOf(r, t.pid, t.tid);
    const PerfTask *parent = findTask(r, t.ptid);
    if (parent != NULL && parent != task) {
        memcpy(task->comm, parent->comm, sizeof task->comm);
        task->commSize = parent->commSize;
    }
    if (m->time == 0) {
        return;
    }
    PerfMoment mine = *m;
    mine.pid = t.ppid;
    mine.tid = t.ptid;
    if (t.pid != t.ppid) {
        PerfPut32(r, t.ppid);
        PerfPut32(r, t.pid);
        PerfPutComm(r, t.tid);
        PerfEmitDeclared(r, PERF_PROCESS_START, &mine);
        inherit(r, m, t.ppid, t.pid);
    }
    PerfPut32(r, t.tid);
    PerfPut32(r, t.pid);
    PerfPutComm(r, t.tid);
    PerfEmitDeclared(r, PERF_THREAD_START, &mine);
}

/* perf does not record exit codes. */
void PerfOnExit(EtwPerfReader *r, const PerfMoment *m, EtwBytes *b)
{
    TaskRecord t;
    PerfMoment mine = *m;
    if (!takeTask(r, b, &t)) {
        return;
    }
    mine.pid = t.pid;
    mine.tid = t.tid;
    PerfPut32(r, t.tid);
    PerfPut32(r, t.pid);
    PerfPutComm(r, t.tid);
    PerfEmitDeclared(r, PERF_THREAD_STOP, &mine);
    PerfPut32(r, 0);
    PerfPutComm(r, t.tid);
    if (endTask(r, t.pid, t.tid)) {
        PerfEmitDeclared(r, PERF_PROCESS_STOP, &mine);
        unload(r, &mine, t.pid);
    }
    r->payload.size = 0;
}
