/*
 * unix/os/logger_dir.c --
 *
 *	The directory of the program etw-logger, for programs with the engine linked in. The package finds the program
 *	beside its own binary. In the build it is the build directory; `make install` compiles this file again
 *	for the installed libetwcore.a.
 */
#include "unix/os/logger_dir.h"

const char *const osLoggerDir = ETW_LOGGER_DIR;
