/*
 * symbol/unwind.c --
 *
 *	Call stacks from copies of registers and memory (symbol/unwind.h). For each process there is a Dwfl of elfutils, to
 *	which images are added when a stack first leads into them. elfutils follows frame pointers where an image
 *	has no call frame information.
 */
#include "symbol/unwind.h"
#include "symbol/image_file.h"
#include "symbol/libdw_int.h"
#include "symbol/symbols.h"

/* ---- Machines -------------------------------------------------------------------------------- */

enum { REGISTERS_MAX = 32 };

typedef struct Machine {
    const char *name;
    int pc, sp;               /* Linux' numbers */
    int count;                /* of registers that DWARF numbers from 0 on */
    int8_t of[REGISTERS_MAX]; /* Linux' numbers, by DWARF's */
} Machine;

static const Machine machines[] = {
        {"x86_64", 8, 7, 17,
                {0 /* rax */, 3 /* rdx */, 2 /* rcx */, 1 /* rbx */, 4 /* rsi */, 5 /* rdi */,
                        6 /* rbp */, 7 /* rsp */, 16, 17, 18, 19, 20, 21, 22, 23, 8 /* rip */}},
        {"aarch64", 32, 31, 32,
                {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
                        23, 24, 25, 26, 27, 28, 29, 30, 31}},
};

static const Machine *machineOf(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof machines / sizeof *machines; i++) {
        if (strcmp(machines[i].name, name) == 0) {
            return &machines[i];
        }
    }
    return NULL;
}

/* A register by Linux' number; 0: it was not copied. */
static uint64_t registerOf(const EtwUnwindSample *s, int number)
{
    uint64_t bit = 1ull << number;
    return s->mask & bit
                   ? EtwLoad64(s->registers + 8 * (size_t)__builtin_popcountll(s->mask & (bit - 1)))
                   : 0;
}

uint64_t EtwUnwindPlace(const char *machine, const EtwUnwindSample *sample)
{
    const Machine *m = machineOf(machine);
    return m != NULL ? registerOf(sample, m->pc) : 0;
}

const char *EtwUnwindLacks(const char *machine)
{
    return machineOf(machine) == NULL ? "stacks are unwound for x86_64 and aarch64 only"
                                      : EtwSymbolsLackElf();
}

#ifdef ETW_HAVE_LIBDW
#include <fcntl.h>
#include <unistd.h>

/* ---- Processes ------------------------------------------------------------------------------- */

enum { PROCESSES_MAX = 256, MODULES_MAX = 64 /* of a process */, OPENED_MAX = 50000, THREAD = 1 };

/* An image in which a stack was. */
typedef struct Module {
    uint64_t base, size;
} Module;

typedef struct Process {
    uint32_t pid;
    uint64_t epoch; /* of its images */
    Dwfl *dwfl;
    bool attached;
    Module modules[MODULES_MAX];
    int count;
    uint64_t used; /* when */
} Process;

struct EtwUnwinder {
    const Machine *machine;
    Process *processes[PROCESSES_MAX];
    int processCount;
    int opened; /* files, so far */
    uint64_t now;
    /* While a stack is unwound: */
    const EtwUnwindSample *sample;
    const EtwImageProcess *images; /* NULL: none */
    Process *process;
    uint64_t *frames;
    int count;
};

static void freeProcess(Process *p)
{
    etwDw.dwfl_end(p->dwfl);
    EtwFree(p);
}

EtwUnwinder *EtwUnwinderNew(const char *machine)
{
    EtwUnwinder *u = EtwUnwindLacks(machine) == NULL ? EtwAlloc(sizeof *u) : NULL;
    if (u != NULL) {
        u->machine = machineOf(machine);
    }
    return u;
}

void EtwUnwinderFree(EtwUnwinder *u)
{
    for (int i = 0; u != NULL && i < u->processCount; i++) {
        freeProcess(u->processes[i]);
    }
    EtwFree(u);
}

/* The slot of a process: its own, an empty one, or that which was not used for the longest time. */
static int slotOf(const EtwUnwinder *u, uint32_t pid)
{
    int oldest = 0;
    for (int i = 0; i < u->processCount; i++) {
        if (u->processes[i]->pid == pid) {
            return i;
        }
        oldest = u->processes[i]->used < u->processes[oldest]->used ? i : oldest;
    }
    return u->processCount < PROCESSES_MAX ? u->processCount : oldest;
}

/* NULL: no memory. */
static Process *processOf(EtwUnwinder *u, uint32_t pid, uint64_t epoch)
{
    int slot = slotOf(u, pid);
    Process *p = slot < u->processCount ? u->processes[slot] : NULL;
    if (p != NULL && (p->pid != pid || p->epoch != epoch)) {
        freeProcess(p);
        u->processes[slot] = u->processes[--u->processCount];
        slot = u->processCount;
        p = NULL;
    }
    if (p == NULL) {
        Dwfl *dwfl = EtwDwBegin(false);
        if (dwfl == NULL) {
            return NULL;
        }
        p = EtwAlloc(sizeof *p);
        p->pid = pid;
        p->epoch = epoch;
        p->dwfl = dwfl;
        u->processes[slot] = p;
        u->processCount++;
    }
    p->used = ++u->now;
    return p;
}

/* ---- Images ---------------------------------------------------------------------------------- */

typedef struct Opening {
    Process *process;
    const EtwImage *image;
} Opening;

/* The difference between addresses of the process and of the file. False: not an image that fits. */
static bool biasOf(int fd, const EtwImage *image, GElf_Addr *biasPtr)
{
    GElf_Addr address = 0;
    Elf *elf = etwDw.elf_begin(fd, ELF_C_READ_MMAP, NULL);
    bool found = EtwDwAddressOf(elf, image->offset, &address);
    etwDw.elf_end(elf);
    *biasPtr = image->base - address;
    return found;
}

static bool openImage(void *ctx, const char *path)
{
    const Opening *o = ctx;
    GElf_Addr bias;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    if (biasOf(fd, o->image, &bias)) {
        etwDw.dwfl_report_begin_add(o->process->dwfl);
        bool added = etwDw.dwfl_report_elf(o->process->dwfl, path, path, fd, bias, true) != NULL;
        etwDw.dwfl_report_end(o->process->dwfl, NULL, NULL);
        if (added) {
            return true; /* the file belongs to it */
        }
    }
    close(fd);
    return false;
}

/* Add an image; when it cannot be read, it counts as added, too. */
static void addImage(EtwUnwinder *u, Process *p, const EtwImage *image)
{
    char build[ETW_BUILD_ID_TEXT];
    EtwImageWanted wanted = {.path = image->path, .anyBuild = true};
    Opening opening = {p, image};
    if (p->count == MODULES_MAX || u->opened == OPENED_MAX) {
        return;
    }
    u->opened++;
    if (image->buildSize != 0) {
        EtwBuildIdText(image->build, image->buildSize, build);
        wanted.build = build;
    }
    EtwImageFileFind(&wanted, openImage, &opening);
    p->modules[p->count++] = (Module){image->base, image->size};
}

static const EtwImage *imageAt(const EtwImageProcess *images, uint64_t address)
{
    for (int i = 0; images != NULL && i < images->count; i++) {
        const EtwImage *image = &images->images[i].of;
        if (address - image->base < image->size) {
            return image;
        }
    }
    return NULL;
}

/* Let the process have the image of an address. */
static void needAddress(EtwUnwinder *u, uint64_t address)
{
    Process *p = u->process;
    for (int i = 0; i < p->count; i++) {
        if (address - p->modules[i].base < p->modules[i].size) {
            return;
        }
    }
    /* A module has all segments of its file. elfutils would replace it while it is in use if it were added again. */
    if (etwDw.dwfl_addrmodule(p->dwfl, address) != NULL) {
        return;
    }
    const EtwImage *image = imageAt(u->images, address);
    if (image != NULL) {
        addImage(u, p, image);
    }
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

static pid_t nextThread(Dwfl *dwfl, void *ctx, void **threadPtr)
{
    (void)dwfl;
    bool first = *threadPtr == NULL;
    *threadPtr = ctx;
    return first ? THREAD : 0;
}

static bool getThread(Dwfl *dwfl, pid_t tid, void *ctx, void **threadPtr)
{
    (void)dwfl;
    *threadPtr = ctx;
    return tid == THREAD;
}

/* A word of the copied memory. */
static bool readMemory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *ctx)
{
    const EtwUnwinder *u = ctx;
    const EtwUnwindSample *s = u->sample;
    uint64_t at = address - registerOf(s, u->machine->sp);
    (void)dwfl;
    if (s->stackSize < 8 || at > s->stackSize - 8) {
        return false;
    }
    *result = EtwLoad64(s->stack + at);
    return true;
}

static bool setRegisters(Dwfl_Thread *thread, void *ctx)
{
    const EtwUnwinder *u = ctx;
    Dwarf_Word values[REGISTERS_MAX];
    for (int i = 0; i < u->machine->count; i++) {
        values[i] = registerOf(u->sample, u->machine->of[i]);
    }
    etwDw.dwfl_thread_state_register_pc(thread, registerOf(u->sample, u->machine->pc));
    return etwDw.dwfl_thread_state_registers(thread, 0, (unsigned)u->machine->count, values);
}

static int takeFrame(Dwfl_Frame *frame, void *ctx)
{
    EtwUnwinder *u = ctx;
    Dwarf_Addr pc;
    bool exact = false; /* not a return address */
    if (!etwDw.dwfl_frame_pc(frame, &pc, &exact) || pc == 0) {
        return DWARF_CB_ABORT;
    }
    u->frames[u->count++] = pc;
    needAddress(u, exact ? pc : pc - 1);
    return u->count < ETW_UNWIND_MAX ? DWARF_CB_OK : DWARF_CB_ABORT;
}

/* elfutils takes the machine from the first image that it can read. False: none of the first images can be. */
static bool attach(EtwUnwinder *u)
{
    enum { TRIES = 8 };
    static const Dwfl_Thread_Callbacks callbacks = {.next_thread = nextThread,
            .get_thread = getThread,
            .memory_read = readMemory,
            .set_initial_registers = setRegisters};
    Process *p = u->process;
    p->attached = p->attached || etwDw.dwfl_attach_state(p->dwfl, NULL, THREAD, &callbacks, u);
    for (int i = 0; !p->attached && i < u->images->count && i < TRIES; i++) {
        needAddress(u, u->images->images[i].of.base);
        p->attached = etwDw.dwfl_attach_state(p->dwfl, NULL, THREAD, &callbacks, u);
    }
    return p->attached;
}

int EtwUnwind(EtwUnwinder *u, const EtwImageTable *images, const EtwUnwindSample *sample,
        uint64_t frames[ETW_UNWIND_MAX])
{
    uint64_t pc = registerOf(sample, u->machine->pc);
    if (pc == 0) {
        return 0;
    }
    u->sample = sample;
    u->images = EtwImagesFind(images, sample->pid);
    u->frames = frames;
    u->count = 0;
    if (u->images != NULL && u->images->count != 0) {
        u->process = processOf(u, sample->pid, u->images->epoch);
        if (u->process != NULL) {
            needAddress(u, pc);
        }
        if (u->process != NULL && attach(u)) {
            etwDw.dwfl_getthread_frames(u->process->dwfl, THREAD, takeFrame, u);
        }
    }
    if (u->count == 0) {
        frames[u->count++] = pc;
    }
    return u->count;
}

#else

EtwUnwinder *EtwUnwinderNew(const char *machine)
{
    (void)machine;
    return NULL;
}

void EtwUnwinderFree(EtwUnwinder *unwinder)
{
    (void)unwinder;
}

int EtwUnwind(EtwUnwinder *unwinder, const EtwImageTable *images, const EtwUnwindSample *sample,
        uint64_t frames[ETW_UNWIND_MAX])
{
    (void)unwinder, (void)images, (void)sample, (void)frames;
    return 0;
}

#endif
