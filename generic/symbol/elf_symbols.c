/*
 * symbol/elf_symbols.c --
 *
 *	Names in an ELF file, by elfutils (libdw.c): functions from its symbol tables, lines and
 *	inlined functions from its DWARF data, which may be in a separate file (.gnu_debuglink,
 *	.build-id below /usr/lib/debug, and a server of debuginfod, when DEBUGINFOD_URLS is set: all of
 *	that is libdwfl's). C++ names are demangled by libstdc++, if it is there.
 */
#include "symbol/libdw_int.h"
#include "symbol/symbols_int.h"
#include "base/arena.h"

#ifdef ETW_HAVE_LIBDW
#include <dlfcn.h>
#include <stdlib.h>

enum { UNITS_MAX = 20000, NAME_MAX_BYTES = 4096, SHOWN_MAX_BYTES = 16384 };

struct ElfSymbols {
    Dwfl *dwfl;
    Dwfl_Module *module;
    bool hasDwarf;
    char *demangled[ETW_SYMBOLS_MAX]; /* of the last result, malloc'ed */
    int demangledCount;
};

/* ---- Opening --------------------------------------------------------------------------------- */

ElfSymbols *ElfSymbolsOpen(const char *path)
{
    ElfSymbols *e = EtwAlloc(sizeof *e);
    GElf_Addr bias;
    Dwarf_Addr dwarfBias;
    e->dwfl = EtwDwBegin(true);
    if (e->dwfl != NULL) {
        etwDw.dwfl_report_begin(e->dwfl);
        e->module = etwDw.dwfl_report_elf(e->dwfl, path, path, -1, 0, true);
        etwDw.dwfl_report_end(e->dwfl, NULL, NULL);
    }
    if (e->module == NULL || etwDw.dwfl_module_getelf(e->module, &bias) == NULL) {
        ElfSymbolsFree(e);
        return NULL;
    }
    e->hasDwarf = etwDw.dwfl_module_getdwarf(e->module, &dwarfBias) != NULL;
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
            etwDw.dwfl_end(e->dwfl);
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
    Dwarf_Attribute *a = etwDw.dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute);
    a = a != NULL ? a : etwDw.dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute);
    const char *name = a != NULL ? etwDw.dwarf_formstring(a) : NULL;
    return name != NULL ? name : etwDw.dwarf_diename(die);
}

/* ---- Inlined functions ----------------------------------------------------------------------- */

/* The compilation unit of an address. Some compilers write no table of them (.debug_aranges). */
static Dwarf_Die *unitOf(const ElfSymbols *e, Dwarf_Addr address, Dwarf_Addr *biasPtr)
{
    Dwarf_Die *unit = etwDw.dwfl_module_addrdie(e->module, address, biasPtr);
    if (unit != NULL) {
        return unit;
    }
    for (int i = 0; i < UNITS_MAX; i++) {
        unit = etwDw.dwfl_module_nextcu(e->module, unit, biasPtr);
        if (unit == NULL || etwDw.dwarf_haspc(unit, address - *biasPtr) > 0) {
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
    if (etwDw.dwarf_formudata(etwDw.dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) == 0 &&
            etwDw.dwarf_formudata(etwDw.dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) ==
                    0 &&
            etwDw.dwarf_diecu(inlined, &unit, NULL, NULL) != NULL &&
            etwDw.dwarf_getsrcfiles(&unit, &files, &count) == 0 && file < count &&
            line <= UINT32_MAX) {
        caller->file = etwDw.dwarf_filesrc(files, file, NULL, NULL);
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
    int found = unit != NULL ? etwDw.dwarf_getscopes(unit, address - bias, &inner) : 0;
    /* After an inlined function, getscopes continues where it was declared: ask for where it was called. */
    int scopeCount = found > 0 ? etwDw.dwarf_getscopes_die(&inner[0], &scopes) : 0;
    for (int i = 0; i < scopeCount && count < ETW_SYMBOLS_MAX - 1; i++) {
        int tag = etwDw.dwarf_tag(&scopes[i]);
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

int ElfSymbolsAt(ElfSymbols *e, uint64_t offset, bool isReturn, EtwSymbol list[ETW_SYMBOLS_MAX])
{
    GElf_Addr address, bias = 0;
    GElf_Off inFunction = 0;
    GElf_Sym symbol;
    int count = 0, line = 0;
    memset(list, 0, sizeof *list * ETW_SYMBOLS_MAX);
    freeDemangled(e);
    if (!EtwDwAddressOf(etwDw.dwfl_module_getelf(e->module, &bias), offset - isReturn, &address)) {
        return 0;
    }
    address += bias;
    if (e->hasDwarf) {
        count = addInlined(e, address, list);
        Dwfl_Line *at = etwDw.dwfl_module_getsrc(e->module, address);
        list[0].file = at != NULL ? etwDw.dwfl_lineinfo(at, NULL, &line, NULL, NULL, NULL) : NULL;
        list[0].line = list[0].file != NULL && line > 0 ? (uint32_t)line : 0;
    }
    const char *name =
            etwDw.dwfl_module_addrinfo(e->module, address, &inFunction, &symbol, NULL, NULL, NULL);
    if (name == NULL || name[0] == '\0') {
        return 0;
    }
    list[count].function = shown(e, name);
    list[count].offset = inFunction + isReturn;
    return count + 1;
}

#else

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
