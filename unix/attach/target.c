/*
 * unix/attach/target.c --
 *
 *	Reads a process: whether this user may attach to it, its memory, its mappings, and the functions that its mapped files
 *	export. These are looked up in memory, as the dynamic linker does it, so that neither the files need be found (they may
 *	be deleted, or in a container) nor their versions be known.
 */
#define _GNU_SOURCE
#include "unix/attach/target.h"
#include "base/alloc.h"
#include <elf.h>
#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- Memory ---------------------------------------------------------------------------------- */

bool TargetRead(const Target *target, uint64_t address, void *to, size_t size)
{
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};
    return process_vm_readv(target->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

bool TargetWrite(const Target *target, uint64_t address, const void *from, size_t size)
{
    struct iovec local = {(void *)(uintptr_t)from, size};
    struct iovec remote = {(void *)(uintptr_t)address, size};
    return process_vm_writev(target->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

bool TargetText(const Target *target, uint64_t address, char *to, size_t size)
{
    size_t used = 0;
    while (used < size - 1) {
        if (!TargetRead(target, address + used, to + used, 1)) {
            to[used] = '\0';
            return used > 0;
        }
        if (to[used] == '\0') {
            return true;
        }
        used++;
    }
    to[used] = '\0';
    return true;
}

/* ---- May this user attach? ------------------------------------------------------------------- */

EtwStatus TargetEnded(const Target *target, EtwError *err)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)target->pid);
    return EtwFail(err, ETW_E_LOOKUP, "PROCESS", pid, "the process %s has ended", pid);
}

EtwStatus TargetForbidden(const Target *target, EtwError *err)
{
    static const char file[] = "/proc/sys/kernel/yama/ptrace_scope";
    char pid[16], scope[8] = "";
    FILE *f = fopen(file, "re");
    snprintf(pid, sizeof pid, "%d", (int)target->pid);
    if (f != NULL) {
        if (fgets(scope, sizeof scope, f) == NULL) {
            scope[0] = '\0';
        }
        fclose(f);
    }
    if (scope[0] >= '1') {
        return EtwFail(err, ETW_E_ACCESS, "PTRACE", pid,
                "attaching to process %s is forbidden by %s, which is %.1s: run etw as root, write "
                "0 "
                "to this file, or start the program with ETW_ATTACH=1 (see etw_attach(n))",
                pid, file, scope);
    }
    return EtwFail(err, ETW_E_ACCESS, "PTRACE", pid,
            "attaching to process %s is forbidden: it has more rights than this user, is protected "
            "against ptrace, or this is a container without the capability SYS_PTRACE; run etw as "
            "root, outside of the container, or start the program with ETW_ATTACH=1 (see "
            "etw_attach(n))",
            pid);
}

typedef struct ProcessStatus {
    char state;
    int group, tracer;
    int seccomp, filters; /* mode; number of filters, -1: unknown (before Linux 5.9) */
    unsigned user;
} ProcessStatus;

static bool readStatus(pid_t pid, ProcessStatus *status)
{
    char path[64], line[256];
    *status = (ProcessStatus){.state = '?', .filters = -1};
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return false;
    }
    while (fgets(line, sizeof line, f) != NULL) {
        sscanf(line, "State: %c", &status->state);
        sscanf(line, "Tgid: %d", &status->group);
        sscanf(line, "TracerPid: %d", &status->tracer);
        sscanf(line, "Seccomp: %d", &status->seccomp);
        sscanf(line, "Seccomp_filters: %d", &status->filters);
        sscanf(line, "Uid: %*u %u", &status->user);
    }
    fclose(f);
    return status->group != 0;
}

/*
 * True if the process has a seccomp filter that this process does not have. Both have the same one if a container has
 * set it, and then etw could not use ptrace either if it forbade much.
 */
static bool isFiltered(const ProcessStatus *status)
{
    ProcessStatus own;
    return status->seccomp != 0 &&
           (status->filters < 0 || !readStatus(getpid(), &own) || own.filters < status->filters);
}

static EtwStatus checkStatus(const Target *target, EtwError *err)
{
    ProcessStatus status;
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)target->pid);
    if (target->pid <= 0 || !readStatus(target->pid, &status)) {
        return EtwFail(err, ETW_E_LOOKUP, "PROCESS", pid, "there is no process %s", pid);
    }
    if (target->pid == getpid()) {
        return EtwFail(err, ETW_E_ARG, "PROCESS", pid,
                "process %s is this process: \"etw script add\" traces its own interpreters", pid);
    }
    if (status.group != target->pid) {
        return EtwFail(err, ETW_E_ARG, "PROCESS", pid,
                "%s is a thread of process %d: give the number of the process", pid, status.group);
    }
    if (status.state == 'Z' || status.state == 'X') {
        return TargetEnded(target, err);
    }
    if (status.tracer != 0) {
        return EtwFail(err, ETW_E_STATE, "TRACED", pid,
                "process %s is already traced by process %d, a debugger or strace: end that first",
                pid, status.tracer);
    }
    if (status.state == 'T') {
        return EtwFail(err, ETW_E_STATE, "STOPPED", pid,
                "process %s is stopped: let it continue first (kill -CONT %s)", pid, pid);
    }
    if (status.user != geteuid()) {
        struct passwd entry, *user = NULL;
        char text[1024], name[64];
        getpwuid_r((uid_t)status.user, &entry, text, sizeof text, &user);
        if (user != NULL) {
            snprintf(name, sizeof name, "%s", user->pw_name);
        } else {
            snprintf(name, sizeof name, "'#%u'", status.user);
        }
        return EtwFail(err, ETW_E_ACCESS, "USER", pid,
                "process %s belongs to another user, whose sessions record its events: run etw as "
                "that user (sudo -u %s etw ...)",
                pid, name);
    }
    if (isFiltered(&status)) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "SECCOMP", pid,
                "process %s has a seccomp filter of its own, which may end it when etw makes a "
                "system "
                "call in it: start the program with ETW_ATTACH=1 (see etw_attach(n)), or record "
                "its kernel "
                "events (etw record -k GROUP --pids %s)",
                pid, pid);
    }
    return ETW_OK;
}

/* ---- Mappings -------------------------------------------------------------------------------- */

static void freeMaps(Target *target)
{
    for (size_t i = 0; i < target->count; i++) {
        EtwFree(target->maps[i].path);
    }
    EtwFree(target->maps);
    target->maps = NULL;
    target->count = 0;
}

void TargetFree(Target *target)
{
    freeMaps(target);
}

static void addMap(Target *target, size_t *capacity, char *line)
{
    unsigned long long start, end, offset, inode;
    char access[5];
    int path = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%llx-%llx %4s %llx %*s %llu %n", &start, &end, access, &offset, &inode,
                &path) < 5) {
        return;
    }
    if (target->count == *capacity) {
        *capacity = *capacity ? *capacity * 2 : 64;
        target->maps = EtwRealloc(target->maps, *capacity * sizeof *target->maps);
    }
    const char *name = path > 0 ? line + path : "";
    TargetMap *map = &target->maps[target->count++];
    *map = (TargetMap){start, end, offset, access[0] == 'r', access[1] == 'w', access[2] == 'x',
            access[3] == 'p', inode, EtwAlloc(strlen(name) + 1)};
    memcpy(map->path, name, strlen(name));
}

EtwStatus TargetReadMaps(Target *target, EtwError *err)
{
    char path[64], *line = NULL;
    size_t size = 0, capacity = 0;
    freeMaps(target);
    snprintf(path, sizeof path, "/proc/%d/maps", (int)target->pid);
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return errno == ENOENT || errno == ESRCH ? TargetEnded(target, err)
                                                 : TargetForbidden(target, err);
    }
    while (getline(&line, &size, f) > 0) {
        addMap(target, &capacity, line);
    }
    free(line);
    fclose(f);
    return target->count > 0 ? ETW_OK : TargetEnded(target, err);
}

const TargetMap *TargetMapOf(const Target *target, uint64_t address)
{
    for (size_t i = 0; i < target->count; i++) {
        if (address >= target->maps[i].start && address < target->maps[i].end) {
            return &target->maps[i];
        }
    }
    return NULL;
}

static EtwStatus checkClass(const Target *target, EtwError *err)
{
    char path[64], head[EI_NIDENT] = "";
    snprintf(path, sizeof path, "/proc/%d/exe", (int)target->pid);
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return errno == ENOENT ? TargetEnded(target, err) : TargetForbidden(target, err);
    }
    size_t got = fread(head, 1, sizeof head, f);
    fclose(f);
    if (got == sizeof head && head[EI_CLASS] == ELFCLASS32) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "BITS", path,
                "process %d is a 32-bit program: etw attaches to 64-bit programs only",
                (int)target->pid);
    }
    return ETW_OK;
}

EtwStatus TargetOpen(Target *target, uint32_t pid, EtwError *err)
{
    *target = (Target){.pid = (pid_t)pid};
    EtwStatus status = checkStatus(target, err);
    if (status == ETW_OK) {
        status = checkClass(target, err);
    }
    if (status == ETW_OK) {
        status = TargetReadMaps(target, err);
    }
    if (status == ETW_OK) {
        char byte;
        for (size_t i = 0; i < target->count; i++) {
            if (target->maps[i].readable && target->maps[i].inode != 0) {
                if (!TargetRead(target, target->maps[i].start, &byte, 1) && errno == EPERM) {
                    status = TargetForbidden(target, err);
                }
                break;
            }
        }
    }
    return status;
}

/* ---- Exported functions ---------------------------------------------------------------------- */

typedef struct Dynamic {
    uint64_t base, symbols, strings, stringSize, gnuHash, hash;
} Dynamic;

/* The dynamic linker writes addresses into this table; others leave offsets there. */
static uint64_t absolute(const Dynamic *dynamic, uint64_t value)
{
    return value < dynamic->base ? dynamic->base + value : value;
}

static void readEntries(const Target *target, Dynamic *dynamic, uint64_t address, uint64_t size)
{
    Elf64_Dyn entry;
    for (uint64_t at = 0; at + sizeof entry <= size && at < 4096 * sizeof entry;
            at += sizeof entry) {
        if (!TargetRead(target, address + at, &entry, sizeof entry) || entry.d_tag == DT_NULL) {
            break;
        }
        uint64_t value = absolute(dynamic, entry.d_un.d_ptr);
        switch (entry.d_tag) {
        case DT_SYMTAB:
            dynamic->symbols = value;
            break;
        case DT_STRTAB:
            dynamic->strings = value;
            break;
        case DT_STRSZ:
            dynamic->stringSize = entry.d_un.d_val;
            break;
        case DT_GNU_HASH:
            dynamic->gnuHash = value;
            break;
        case DT_HASH:
            dynamic->hash = value;
            break;
        default:
            break;
        }
    }
}

static bool readDynamic(const Target *target, const TargetMap *image, Dynamic *dynamic)
{
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    *dynamic = (Dynamic){.base = image->start};
    if (!TargetRead(target, image->start, &header, sizeof header) ||
            memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
            header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof segment) {
        return false;
    }
    for (unsigned i = 0; i < header.e_phnum && i < 64; i++) {
        if (!TargetRead(target, image->start + header.e_phoff + i * sizeof segment, &segment,
                    sizeof segment)) {
            return false;
        }
        if (segment.p_type == PT_DYNAMIC) {
            /* A program at a fixed address has addresses, a shared object has offsets. */
            uint64_t at =
                    header.e_type == ET_EXEC ? segment.p_vaddr : image->start + segment.p_vaddr;
            readEntries(target, dynamic, at, segment.p_memsz);
        }
    }
    return dynamic->symbols != 0 && dynamic->strings != 0;
}

static bool isSymbol(const Target *target, const Dynamic *dynamic, uint64_t index, const char *name,
        uint64_t *address)
{
    Elf64_Sym symbol;
    char found[64];
    if (!TargetRead(target, dynamic->symbols + index * sizeof symbol, &symbol, sizeof symbol) ||
            symbol.st_shndx == SHN_UNDEF || symbol.st_name >= dynamic->stringSize ||
            ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC ||
            !TargetText(target, dynamic->strings + symbol.st_name, found, sizeof found) ||
            strcmp(found, name) != 0) {
        return false;
    }
    *address = dynamic->base + symbol.st_value;
    return true;
}

static uint64_t findGnu(const Target *target, const Dynamic *dynamic, const char *name)
{
    struct {
        uint32_t buckets, first, blooms, shift;
    } head;
    uint32_t wanted = 5381, index, hash;
    uint64_t address;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        wanted = wanted * 33 + *c;
    }
    if (!TargetRead(target, dynamic->gnuHash, &head, sizeof head) || head.buckets == 0) {
        return 0;
    }
    uint64_t buckets = dynamic->gnuHash + sizeof head + (uint64_t)head.blooms * 8;
    uint64_t chains = buckets + (uint64_t)head.buckets * 4;
    if (!TargetRead(target, buckets + (uint64_t)(wanted % head.buckets) * 4, &index, 4) ||
            index < head.first) {
        return 0;
    }
    for (int steps = 0; steps < 10000; steps++, index++) {
        if (!TargetRead(target, chains + (uint64_t)(index - head.first) * 4, &hash, 4)) {
            return 0;
        }
        if ((hash | 1) == (wanted | 1) && isSymbol(target, dynamic, index, name, &address)) {
            return address;
        }
        if (hash & 1) {
            return 0;
        }
    }
    return 0;
}

static uint64_t findSysv(const Target *target, const Dynamic *dynamic, const char *name)
{
    uint32_t head[2], hash = 0, index;
    uint64_t address;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        hash = (hash << 4) + *c;
        hash = (hash ^ ((hash & 0xf0000000u) >> 24)) & 0x0fffffffu;
    }
    if (!TargetRead(target, dynamic->hash, head, sizeof head) || head[0] == 0 ||
            !TargetRead(target, dynamic->hash + 8 + (uint64_t)(hash % head[0]) * 4, &index, 4)) {
        return 0;
    }
    for (int steps = 0; index != 0 && steps < 10000; steps++) {
        if (isSymbol(target, dynamic, index, name, &address)) {
            return address;
        }
        if (!TargetRead(target, dynamic->hash + 8 + ((uint64_t)head[0] + index) * 4, &index, 4)) {
            return 0;
        }
    }
    return 0;
}

uint64_t TargetSymbol(const Target *target, const TargetMap *image, const char *name)
{
    Dynamic dynamic;
    if (!readDynamic(target, image, &dynamic)) {
        return 0;
    }
    return dynamic.gnuHash != 0 ? findGnu(target, &dynamic, name)
           : dynamic.hash != 0  ? findSysv(target, &dynamic, name)
                                : 0;
}

const TargetMap *TargetImage(const Target *target, const char *name, const char *symbol)
{
    for (size_t i = 0; i < target->count; i++) {
        const TargetMap *map = &target->maps[i];
        const char *slash = strrchr(map->path, '/');
        if (map->offset == 0 && map->readable && slash != NULL &&
                strncmp(slash + 1, name, strlen(name)) == 0 &&
                TargetSymbol(target, map, symbol) != 0) {
            return map;
        }
    }
    return NULL;
}
