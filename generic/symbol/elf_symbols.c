/*
 * symbol/elf_symbols.c --
 *
 *	Names in an ELF file, by elfutils (libdw, loaded when it is first needed): functions from its symbol tables, lines and
 *	inlined functions from its DWARF data, which may be in a separate file (.gnu_debuglink,
 *	.build-id below /usr/lib/debug, and a server of debuginfod, when DEBUGINFOD_URLS is set: all of
 *	that is libdwfl's). C++ names are demangled by libstdc++, if it is there.
 */
#include "symbol/symbols_int.h"
#include "base/arena.h"

#ifdef ETW_HAVE_LIBDW
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <pthread.h>
#include <stdlib.h>

enum { UNITS_MAX = 20000, NAME_MAX_BYTES = 4096, SHOWN_MAX_BYTES = 16384 };

/* The functions of libdw, and of libelf, which it loads. */
#define DW_FUNCTIONS(X)                                                                            \
    X(dwarf_attr)                                                                                  \
    X(dwarf_attr_integrate)                                                                        \
    X(dwarf_diecu)                                                                                 \
    X(dwarf_diename)                                                                               \
    X(dwarf_filesrc)                                                                               \
    X(dwarf_formstring)                                                                            \
    X(dwarf_formudata)                                                                             \
    X(dwarf_getscopes)                                                                             \
    X(dwarf_getscopes_die)                                                                         \
    X(dwarf_getsrcfiles)                                                                           \
    X(dwarf_haspc)                                                                                 \
    X(dwarf_tag)                                                                                   \
    X(dwfl_begin)                                                                                  \
    X(dwfl_build_id_find_elf)                                                                      \
    X(dwfl_end)                                                                                    \
    X(dwfl_lineinfo)                                                                               \
    X(dwfl_module_addrdie)                                                                         \
    X(dwfl_module_addrinfo)                                                                        \
    X(dwfl_module_getdwarf)                                                                        \
    X(dwfl_module_getelf)                                                                          \
    X(dwfl_module_getsrc)                                                                          \
    X(dwfl_module_nextcu)                                                                          \
    X(dwfl_offline_section_address)                                                                \
    X(dwfl_report_begin)                                                                           \
    X(dwfl_report_elf)                                                                             \
    X(dwfl_report_end)                                                                             \
    X(dwfl_standard_find_debuginfo)                                                                \
    X(elf_getphdrnum)                                                                              \
    X(gelf_getphdr)
static struct {
#define X(name) __typeof__(name) *name;
    DW_FUNCTIONS(X)
#undef X
} dw;

struct ElfSymbols {
    Dwfl *dwfl;
    Dwfl_Module *module;
    bool hasDwarf;
    char *demangled[ETW_SYMBOLS_MAX]; /* of the last result, malloc'ed */
    int demangledCount;
};

/* ---- The library ----------------------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool loaded;

static void load(void)
{
    void *library = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);
    loaded = library != NULL;
#define X(name)                                                                                    \
    dw.name = loaded ? (__typeof__(name) *)(uintptr_t)dlsym(library, #name) : NULL;                \
    loaded = loaded && dw.name != NULL;
    DW_FUNCTIONS(X)
#undef X
}

const char *EtwSymbolsLackElf(void)
{
    pthread_once(&once, load);
    return loaded ? NULL : "the library libdw.so.1 is not installed (Debian: libdw1)";
}

/* ---- Opening --------------------------------------------------------------------------------- */

ElfSymbols *ElfSymbolsOpen(const char *path)
{
    static char *debugPath = NULL; /* NULL: elfutils' own: +:.debug:/usr/lib/debug */
    static Dwfl_Callbacks callbacks = {.debuginfo_path = &debugPath};
    ElfSymbols *e = EtwAlloc(sizeof *e);
    GElf_Addr bias;
    Dwarf_Addr dwarfBias;
    callbacks.find_elf = dw.dwfl_build_id_find_elf;
    callbacks.find_debuginfo = dw.dwfl_standard_find_debuginfo;
    callbacks.section_address = dw.dwfl_offline_section_address;
    e->dwfl = dw.dwfl_begin(&callbacks);
    if (e->dwfl != NULL) {
        dw.dwfl_report_begin(e->dwfl);
        e->module = dw.dwfl_report_elf(e->dwfl, path, path, -1, 0, true);
        dw.dwfl_report_end(e->dwfl, NULL, NULL);
    }
    if (e->module == NULL || dw.dwfl_module_getelf(e->module, &bias) == NULL) {
        ElfSymbolsFree(e);
        return NULL;
    }
    e->hasDwarf = dw.dwfl_module_getdwarf(e->module, &dwarfBias) != NULL;
    return e;
}

static void freeDemangled(ElfSymbols *e)
{
    while (e->demangledCount > 0) {
        free(e->demangled[--e->demangledCount]);
    }
}

void ElfSymbolsFree(ElfSymbols *e)
{
    if (e != NULL) {
        freeDemangled(e);
        if (e->dwfl != NULL) {
            dw.dwfl_end(e->dwfl);
        }
        EtwFree(e);
    }
}

/* ---- Names ----------------------------------------------------------------------------------- */

typedef char *Demangle(const char *name, char *buffer, size_t *size, int *status);

static Demangle *demangler(void)
{
    static Demangle *function;
    static bool sought;
    if (!sought) { /* twice in two threads does no harm */
        void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
        function = library != NULL ? (Demangle *)(uintptr_t)dlsym(library, "__cxa_demangle") : NULL;
        sought = true;
    }
    return function;
}

/* C++ and Rust's older names begin with _Z. */
static const char *shown(ElfSymbols *e, const char *name)
{
    int status = -1;
    Demangle *demangle = name[0] == '_' && name[1] == 'Z' ? demangler() : NULL;
    if (demangle == NULL || strlen(name) > NAME_MAX_BYTES || e->demangledCount == ETW_SYMBOLS_MAX) {
        return name;
    }
    char *text = demangle(name, NULL, NULL, &status);
    if (status != 0 || text == NULL || strlen(text) > SHOWN_MAX_BYTES) {
        free(text);
        return name;
    }
    e->demangled[e->demangledCount++] = text;
    return text;
}

/* Of a function in DWARF, which may refer to its declaration; NULL: none. */
static const char *dieName(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Attribute *a = dw.dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute);
    a = a != NULL ? a : dw.dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute);
    const char *name = a != NULL ? dw.dwarf_formstring(a) : NULL;
    return name != NULL ? name : dw.dwarf_diename(die);
}

/* ---- Inlined functions ----------------------------------------------------------------------- */

/* The compilation unit of an address. Some compilers write no table of them (.debug_aranges). */
static Dwarf_Die *unitOf(const ElfSymbols *e, Dwarf_Addr address, Dwarf_Addr *biasPtr)
{
    Dwarf_Die *unit = dw.dwfl_module_addrdie(e->module, address, biasPtr);
    if (unit != NULL) {
        return unit;
    }
    for (int i = 0; i < UNITS_MAX; i++) {
        unit = dw.dwfl_module_nextcu(e->module, unit, biasPtr);
        if (unit == NULL || dw.dwarf_haspc(unit, address - *biasPtr) > 0) {
            return unit;
        }
    }
    return NULL;
}

static void setCaller(EtwSymbol *caller, Dwarf_Die *inlined)
{
    Dwarf_Attribute attribute;
    Dwarf_Word file = 0, line = 0;
    Dwarf_Die unit;
    Dwarf_Files *files;
    size_t count;
    if (dw.dwarf_formudata(dw.dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) == 0 &&
            dw.dwarf_formudata(dw.dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) == 0 &&
            dw.dwarf_diecu(inlined, &unit, NULL, NULL) != NULL &&
            dw.dwarf_getsrcfiles(&unit, &files, &count) == 0 && file < count &&
            line <= UINT32_MAX) {
        caller->file = dw.dwarf_filesrc(files, file, NULL, NULL);
        caller->line = (uint32_t)line;
    }
}

/*
 * Fill list[0 ...] with the functions that are inlined at an address, the innermost first. Returns how many there are;
 * the element behind them has the place of the call.
 */
static int addInlined(ElfSymbols *e, Dwarf_Addr address, EtwSymbol *list)
{
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = unitOf(e, address, &bias), *inner = NULL, *scopes = NULL;
    int count = 0;
    int found = unit != NULL ? dw.dwarf_getscopes(unit, address - bias, &inner) : 0;
    /* After an inlined function, getscopes continues where it was declared: ask for where it was called. */
    int scopeCount = found > 0 ? dw.dwarf_getscopes_die(&inner[0], &scopes) : 0;
    for (int i = 0; i < scopeCount && count < ETW_SYMBOLS_MAX - 1; i++) {
        int tag = dw.dwarf_tag(&scopes[i]);
        if (tag == DW_TAG_subprogram) {
            break;
        }
        if (tag == DW_TAG_inlined_subroutine) {
            const char *name = dieName(&scopes[i]);
            list[count].function = name != NULL ? shown(e, name) : "(inlined)";
            list[count].inlined = true;
            setCaller(&list[++count], &scopes[i]);
        }
    }
    free(scopes);
    free(inner);
    return count;
}

/* ---- Addresses ------------------------------------------------------------------------------- */

/* The address of an offset in the file; false: in no segment. */
static bool addressOf(const ElfSymbols *e, uint64_t offset, GElf_Addr *addressPtr)
{
    GElf_Addr bias;
    Elf *elf = dw.dwfl_module_getelf(e->module, &bias);
    size_t count;
    if (elf == NULL || dw.elf_getphdrnum(elf, &count) != 0) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr h;
        if (dw.gelf_getphdr(elf, (int)i, &h) != NULL && h.p_type == PT_LOAD &&
                (h.p_flags & PF_X) != 0 && offset >= h.p_offset &&
                offset - h.p_offset < h.p_memsz) {
            *addressPtr = h.p_vaddr + (offset - h.p_offset) + bias;
            return true;
        }
    }
    return false;
}

int ElfSymbolsAt(ElfSymbols *e, uint64_t offset, bool isReturn, EtwSymbol list[ETW_SYMBOLS_MAX])
{
    GElf_Addr address;
    GElf_Off inFunction = 0;
    GElf_Sym symbol;
    int count = 0, line = 0;
    memset(list, 0, sizeof *list * ETW_SYMBOLS_MAX);
    freeDemangled(e);
    if (!addressOf(e, offset - isReturn, &address)) {
        return 0;
    }
    if (e->hasDwarf) {
        count = addInlined(e, address, list);
        Dwfl_Line *at = dw.dwfl_module_getsrc(e->module, address);
        list[0].file = at != NULL ? dw.dwfl_lineinfo(at, NULL, &line, NULL, NULL, NULL) : NULL;
        list[0].line = list[0].file != NULL && line > 0 ? (uint32_t)line : 0;
    }
    const char *name =
            dw.dwfl_module_addrinfo(e->module, address, &inFunction, &symbol, NULL, NULL, NULL);
    if (name == NULL || name[0] == '\0') {
        return 0;
    }
    list[count].function = shown(e, name);
    list[count].offset = inFunction + isReturn;
    return count + 1;
}

#else

const char *EtwSymbolsLackElf(void)
{
    return "this build of etw has no support for ELF files: build it with libdw-dev";
}

ElfSymbols *ElfSymbolsOpen(const char *path)
{
    (void)path;
    return NULL;
}

void ElfSymbolsFree(ElfSymbols *e)
{
    (void)e;
}

int ElfSymbolsAt(ElfSymbols *e, uint64_t offset, bool isReturn, EtwSymbol list[ETW_SYMBOLS_MAX])
{
    (void)e, (void)offset, (void)isReturn, (void)list;
    return 0;
}

#endif
