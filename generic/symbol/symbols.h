/*
 * symbol/symbols.h --
 *
 *	Names of addresses: function, source file and line, functions that were inlined. Of programs and
 *	shared libraries from their ELF and DWARF data (elf_symbols.c, with elfutils), of the kernel from
 *	/proc/kallsyms, of code that a JIT compiler made from /tmp/perf-PID.map. A file is used only if its
 *	build id is that of the trace. Results are kept; work and memory are bounded.
 */
#ifndef ETW_SYMBOLS_H
#define ETW_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct EtwSymbols EtwSymbols;

/* A place in an image: as semantics/declared_events.c declares it. */
typedef struct EtwSymbolPlace {
    uint32_t pid;
    const char *path;  /* of the image; NULL: the address is in no image */
    const char *build; /* its build id in hexadecimal digits; NULL: none */
    uint64_t offset;   /* in the file; without image the address */
    bool isReturn;     /* the address follows the call that is asked for */
} EtwSymbolPlace;

typedef struct EtwSymbol {
    const char *function; /* never NULL */
    uint64_t offset;      /* of the address in the function; of an inlined one 0 */
    const char *file;     /* NULL: unknown */
    uint32_t line;
    bool inlined; /* into the next one */
} EtwSymbol;

enum { ETW_SYMBOLS_MAX = 24 /* of an address: the function and those inlined into it */ };

/* Folders with files, and with .build-id folders, that are searched first. */
EtwSymbols *EtwSymbolsNew(const char *const *folders, int count);
void EtwSymbolsFree(EtwSymbols *symbols);
/* The innermost first; valid as long as symbols. *countPtr 0: no name. symbols may be NULL. */
const EtwSymbol *EtwSymbolsOf(EtwSymbols *symbols, const EtwSymbolPlace *place, int *countPtr);
/* Add a name that a trace has of a place, before it is asked for. The texts are copied. */
void EtwSymbolsAdd(
        EtwSymbols *symbols, const EtwSymbolPlace *place, const EtwSymbol *list, int count);
/* Call visit for each place that has been resolved. */
typedef void EtwSymbolsVisit(
        void *ctx, const EtwSymbolPlace *place, const EtwSymbol *list, int count);
void EtwSymbolsEach(const EtwSymbols *symbols, EtwSymbolsVisit *visit, void *ctx);
/* Images without usable symbols: their path and the reason. index from 0; NULL: no more. */
const char *EtwSymbolsMissing(const EtwSymbols *symbols, int index, const char **whyPtr);
/* Why ELF files cannot be read; NULL: they can. */
const char *EtwSymbolsLackElf(void);

#endif
