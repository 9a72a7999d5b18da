/*
 * symbol/libdw_int.h --
 *
 *	The functions of elfutils (libdw, and libelf, which it loads) that names and stacks need. The library is loaded when
 *	it is first needed, because programs without traces of Linux do not need it.
 */
#ifndef ETW_LIBDW_INT_H
#define ETW_LIBDW_INT_H

#ifdef ETW_HAVE_LIBDW
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

#define ETW_DW_FUNCTIONS(X)                                                                        \
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
    X(dwfl_addrmodule)                                                                             \
    X(dwfl_attach_state)                                                                           \
    X(dwfl_begin)                                                                                  \
    X(dwfl_build_id_find_elf)                                                                      \
    X(dwfl_end)                                                                                    \
    X(dwfl_frame_pc)                                                                               \
    X(dwfl_getthread_frames)                                                                       \
    X(dwfl_lineinfo)                                                                               \
    X(dwfl_module_addrdie)                                                                         \
    X(dwfl_module_addrinfo)                                                                        \
    X(dwfl_module_getdwarf)                                                                        \
    X(dwfl_module_getelf)                                                                          \
    X(dwfl_module_getsrc)                                                                          \
    X(dwfl_module_nextcu)                                                                          \
    X(dwfl_offline_section_address)                                                                \
    X(dwfl_report_begin)                                                                           \
    X(dwfl_report_begin_add)                                                                       \
    X(dwfl_report_elf)                                                                             \
    X(dwfl_report_end)                                                                             \
    X(dwfl_standard_find_debuginfo)                                                                \
    X(dwfl_thread_state_register_pc)                                                               \
    X(dwfl_thread_state_registers)                                                                 \
    X(elf_begin)                                                                                   \
    X(elf_end)                                                                                     \
    X(elf_getphdrnum)                                                                              \
    X(elf_version)                                                                                 \
    X(gelf_getphdr)

typedef struct EtwDw {
#define X(name) __typeof__(name) *name;
    ETW_DW_FUNCTIONS(X)
#undef X
} EtwDw;
extern EtwDw etwDw; /* after EtwDwLoad has returned true */

bool EtwDwLoad(void); /* false: the library is not installed */
/* Without modules; NULL: no memory. debug: files with debug information may be searched, also by debuginfod. */
Dwfl *EtwDwBegin(bool debug);
/* The address, as in the program headers, of an offset in executable code of the file. False: in no segment. */
bool EtwDwAddressOf(Elf *elf, uint64_t offset, GElf_Addr *addressPtr);
#endif

#endif
