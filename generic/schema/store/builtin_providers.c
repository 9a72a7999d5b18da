/*
 * schema/store/builtin_providers.c --
 *
 *	What is known without being told: the names of our own providers. Windows' kernel classes are
 *	kernel_classes.c's.
 */
#include "schema/model/schema_int.h"
#include "schema/store/builtin_providers.h"

const char *const etwOwnProviders[] = {"Tcl-Script", "Etw-Session", "Linux-tcpip", "Linux-udpip",
        "Linux-process", "Linux-thread", "Linux-contextswitch", "Linux-systemcall", "Linux-fileio",
        "Linux-diskio", "Linux-pagefault", "Linux-hardfault", "Linux-virtualalloc",
        "Linux-interrupt", "Linux-dpc", "Linux-profile", "Linux-heap", NULL};
