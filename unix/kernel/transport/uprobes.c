/*
 * unix/kernel/transport/uprobes.c --
 *
 *	See uprobes.h. A uprobe is a breakpoint at an offset in a file, here the libc that this
 *	process has loaded. Format of the definitions: the kernel's
 *	Documentation/trace/uprobetracer.rst.
 */
#define _GNU_SOURCE
#include "unix/kernel/transport/uprobes.h"
#include "base/os.h"
#include "unix/kernel/transport/owner_name.h"
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include <unistd.h>

/* A function's file, and the offset of its first instruction in it. */
typedef struct Symbol {
    const uint8_t *address;
    const char *path;
    uint64_t offset;
} Symbol;

static int findOffset(struct dl_phdr_info *info, size_t size, void *ctx)
{
    Symbol *symbol = ctx;
    uintptr_t at = (uintptr_t)symbol->address;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && at >= start && at < start + part->p_filesz) {
            symbol->path = info->dlpi_name;
            symbol->offset = at - start + part->p_offset;
            return 1;
        }
    }
    return 0;
}

/* Finds the function of libc, even if another library (a sanitizer, LD_PRELOAD) interposes it. */
static bool findFunction(const char *function, Symbol *symbol)
{
    static void *libc;
    if (libc == NULL) {
        libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    }
    *symbol = (Symbol){.address = libc != NULL ? dlsym(libc, function) : NULL};
    return symbol->address != NULL && dl_iterate_phdr(findOffset, symbol) != 0;
}

bool KernelUprobesPossible(void)
{
    return *ARG_1 != '\0' && tracefs_file_exists(NULL, "uprobe_events");
}

const char *KernelUprobesSystem(const char *system)
{
    static _Thread_local char own[64];
    static _Thread_local uint32_t pid;
    if (strcmp(system, KERNEL_UPROBES) != 0) {
        return system;
    }
    if (pid != OsPid()) {
        TraceOwnerName(own, sizeof own, '_');
        pid = OsPid();
    }
    return own;
}

static bool isThere(const KernelUprobe *probe)
{
    char *known =
            tracefs_event_get_file(NULL, KernelUprobesSystem(KERNEL_UPROBES), probe->name, "id");
    bool there = known != NULL && access(known, F_OK) == 0; /* another session has created it */
    tracefs_put_tracing_file(known);
    return there;
}

/* Create the uprobe. Returns 0 or errno. */
static int place(const KernelUprobe *probe, const Symbol *symbol)
{
    struct tracefs_dynevent *event =
            (probe->atReturn ? tracefs_uretprobe_alloc : tracefs_uprobe_alloc)(
                    KernelUprobesSystem(KERNEL_UPROBES), probe->name, symbol->path, symbol->offset,
                    probe->arguments);
    errno = 0;
    int why = event == NULL                         ? ENOMEM
              : tracefs_dynevent_create(event) == 0 ? 0
              : errno != 0                          ? errno
                                                    : EINVAL;
    tracefs_dynevent_free(event);
    return why;
}

static EtwStatus make(const KernelUprobe *probe, EtwError *err)
{
    Symbol symbol;
    if (isThere(probe)) {
        return ETW_OK;
    }
    if (*ARG_1 == '\0' || !findFunction(probe->function, &symbol)) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "UPROBE", probe->function,
                "cannot place a breakpoint on \"%s\": this program has no shared libc, or its "
                "processor is not supported",
                probe->function);
    }
    int why = place(probe, &symbol);
    if (why == 0) {
        return ETW_OK;
    }
    if (why == EACCES || why == EPERM) {
        return EtwFailOs(err, ETW_E_ACCESS, why, "UPROBE", probe->function,
                "a breakpoint on \"%s\" requires write access to uprobe_events of tracefs: run as "
                "root",
                probe->function);
    }
    return EtwFailOs(err, ETW_E_UNSUPPORTED, why, "UPROBE", probe->function,
            "the kernel refused a breakpoint on \"%s\" of %s", probe->function, symbol.path);
}

/* The kernel refuses to remove uprobes that are used. */
void KernelUprobesSweep(void)
{
    struct tracefs_dynevent **all =
            tracefs_dynevent_get_all(TRACEFS_DYNEVENT_UPROBE | TRACEFS_DYNEVENT_URETPROBE, NULL);
    for (int i = 0; all != NULL && all[i] != NULL; i++) {
        char *system = NULL;
        tracefs_dynevent_info(all[i], &system, NULL, NULL, NULL, NULL);
        if (system != NULL && TraceOwnerIsDead(system, '_')) {
            tracefs_dynevent_destroy(all[i], false);
        }
        free(system);
    }
    tracefs_dynevent_list_free(all);
}

EtwStatus KernelUprobesMake(const KernelUprobe *probes, int count, EtwError *err)
{
    EtwStatus result = ETW_OK;
    KernelUprobesSweep();
    for (int i = 0; i < count; i++) {
        EtwStatus status = make(&probes[i], result == ETW_OK ? err : NULL);
        result = result == ETW_OK ? status : result;
    }
    return result;
}

void KernelUprobesRemove(const KernelUprobe *probes, int count)
{
    char command[128];
    for (int i = 0; i < count; i++) {
        snprintf(command, sizeof command, "-:%s/%s\n", KernelUprobesSystem(KERNEL_UPROBES),
                probes[i].name);
        tracefs_instance_file_append(NULL, "uprobe_events", command);
    }
}
