/*
 * tcl/core/c_stubs.h --
 *
 *	The package's own side of etwStubs.h.
 */
#ifndef ETW_C_STUBS_H
#define ETW_C_STUBS_H

#include <tcl.h>
#include "etwStubs.h"

const EtwStubs *EtwStubsTable(void);

#endif
