/*
 * symbol/libdw.c --
 *
 *	The library libdw of elfutils (symbol/libdw_int.h).
 */
#include "symbol/libdw_int.h"
#include "symbol/symbols.h"

#ifdef ETW_HAVE_LIBDW
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

EtwDw etwDw;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool loaded;
static char *debugPath = NULL; /* NULL: elfutils' own: +:.debug:/usr/lib/debug */
static Dwfl_Callbacks callbacks = {.debuginfo_path = &debugPath};
static Dwfl_Callbacks bare; /* finds no other files, here or through the network */

static int findNothing(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
        const char *file, const char *link, GElf_Word crc, char **debugPtr)
{
    (void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc;
    *debugPtr = NULL;
    return -1;
}

static void load(void)
{
    void *library = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);
    loaded = library != NULL;
#define X(name)                                                                                    \
    etwDw.name = loaded ? (__typeof__(name) *)(uintptr_t)dlsym(library, #name) : NULL;             \
    loaded = loaded && etwDw.name != NULL;
    ETW_DW_FUNCTIONS(X)
#undef X
    loaded = loaded && etwDw.elf_version(EV_CURRENT) != EV_NONE;
    callbacks.find_elf = bare.find_elf = etwDw.dwfl_build_id_find_elf;
    callbacks.find_debuginfo = etwDw.dwfl_standard_find_debuginfo;
    bare.find_debuginfo = findNothing;
    callbacks.section_address = bare.section_address = etwDw.dwfl_offline_section_address;
}

bool EtwDwLoad(void)
{
    pthread_once(&once, load);
    return loaded;
}

const char *EtwSymbolsLackElf(void)
{
    return EtwDwLoad() ? NULL : "the library libdw.so.1 is not installed (Debian: libdw1)";
}

Dwfl *EtwDwBegin(bool debug)
{
    return etwDw.dwfl_begin(debug ? &callbacks : &bare);
}

bool EtwDwAddressOf(Elf *elf, uint64_t offset, GElf_Addr *addressPtr)
{
    size_t count;
    if (elf == NULL || etwDw.elf_getphdrnum(elf, &count) != 0) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr h;
        if (etwDw.gelf_getphdr(elf, (int)i, &h) != NULL && h.p_type == PT_LOAD &&
                (h.p_flags & PF_X) != 0 && offset >= h.p_offset &&
                offset - h.p_offset < h.p_memsz) {
            *addressPtr = h.p_vaddr + (offset - h.p_offset);
            return true;
        }
    }
    return false;
}

#else

const char *EtwSymbolsLackElf(void)
{
    return "this build of etw has no support for ELF files: build it with libdw-dev";
}

#endif
