/*
 * tcl/stubs.h --
 *
 *	The package's own side of etwStubs.h.
 */
#ifndef ETW_TCL_STUBS_H
#define ETW_TCL_STUBS_H

#include <tcl.h>
#include "etwStubs.h"

const EtwStubs *EtwStubsTable(void);

#endif
