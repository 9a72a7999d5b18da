/*
 * symbol/unwind.h --
 *
 *	Call stacks without frame pointers: from a copy of a thread's registers and of the memory at its stack pointer, and from
 *	the call frame information (DWARF, .eh_frame) of the images of its process, with elfutils. Copies and files
 *	are untrusted. Work and memory are bounded.
 */
#ifndef ETW_UNWIND_H
#define ETW_UNWIND_H

#include "symbol/image_table.h"

typedef struct EtwUnwinder EtwUnwinder;

enum { ETW_UNWIND_MAX = 256 /* frames */ };

typedef struct EtwUnwindSample {
    uint32_t pid;
    const uint8_t *registers; /* 8 bytes for each bit of mask */
    uint64_t mask;            /* Linux' numbers of registers (asm/perf_regs.h) */
    const uint8_t *stack;     /* memory from the stack pointer on */
    size_t stackSize;
} EtwUnwindSample;

/* Why stacks cannot be unwound; NULL: they can. machine: as uname has it. */
const char *EtwUnwindLacks(const char *machine);
/* NULL: they cannot be unwound. */
EtwUnwinder *EtwUnwinderNew(const char *machine);
void EtwUnwinderFree(EtwUnwinder *unwinder);
/*
 * The addresses of the stack, the innermost first: where the thread is, then return addresses. Returns how
 * many there are; 0: the program counter is not in the sample. images: those of the sample's process and time.
 */
int EtwUnwind(EtwUnwinder *unwinder, const EtwImageTable *images, const EtwUnwindSample *sample,
        uint64_t frames[ETW_UNWIND_MAX]);
/* The program counter of a sample; 0: not in it. */
uint64_t EtwUnwindPlace(const char *machine, const EtwUnwindSample *sample);

#endif
