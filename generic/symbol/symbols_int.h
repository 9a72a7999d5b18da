/*
 * symbol/symbols_int.h --
 *
 *	The sources of names, used by symbols.c. Names that they return are valid until the next call for the
 *	same source.
 */
#ifndef ETW_SYMBOLS_INT_H
#define ETW_SYMBOLS_INT_H

#include "base/text.h"
#include "symbol/symbols.h"

/* ---- ELF files (elf_symbols.c) ----------------------------------------------------------------- */

typedef struct ElfSymbols ElfSymbols;
/* NULL: not an ELF file, or the build has no elfutils. */
ElfSymbols *ElfSymbolsOpen(const char *path);
void ElfSymbolsFree(ElfSymbols *elf);
/* The names at an offset of the file, the innermost first; returns how many. */
int ElfSymbolsAt(ElfSymbols *elf, uint64_t offset, bool isReturn, EtwSymbol list[ETW_SYMBOLS_MAX]);

/* ---- Lists of addresses (symbol_list.c) -------------------------------------------------------- */

/* Sorted symbols of a text file: /proc/kallsyms, a perf map. */
typedef struct SymbolList SymbolList;
SymbolList *SymbolListOfKernel(void);          /* NULL: no rights */
SymbolList *SymbolListOfMap(const char *path); /* NULL: no such file */
void SymbolListFree(SymbolList *list);
/* NULL: no symbol contains the address. */
const char *SymbolListAt(const SymbolList *list, uint64_t address, uint64_t *offsetPtr);
/* The address of a symbol; 0: none. */
uint64_t SymbolListAddress(const SymbolList *list, const char *name);

#endif
