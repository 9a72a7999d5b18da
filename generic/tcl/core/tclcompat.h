/*
 * tcl/core/tclcompat.h --
 *
 *	Lets code that is written for Tcl 9.0 compile with 8.6. Nothing else.
 */
#ifndef ETW_TCLCOMPAT_H
#define ETW_TCLCOMPAT_H

#include <tcl.h>
#include <limits.h>

#ifndef TCL_SIZE_MAX
typedef int Tcl_Size;
#define TCL_SIZE_MAX INT_MAX
#define TCL_SIZE_MODIFIER ""
#endif

#ifndef Tcl_GetChild /* renamed in Tcl 8.6.11 */
#define Tcl_GetChild Tcl_GetSlave
#endif

#ifndef TCL_INDEX_NONE
#define TCL_INDEX_NONE (-1)
#endif

#if TCL_MAJOR_VERSION < 9
/* In 8.6 this cannot fail: any value has bytes (characters above 255 lose their upper bits). */
#define Tcl_GetBytesFromObj(interp, obj, sizePtr)                                                  \
    ((void)(interp), Tcl_GetByteArrayFromObj(obj, sizePtr))
#endif

#endif
