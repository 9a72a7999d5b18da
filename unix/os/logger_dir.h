/*
 * unix/os/logger_dir.h --
 *
 *	Where the program etw-logger is installed.
 */
#ifndef ETW_LOGGER_DIR_H
#define ETW_LOGGER_DIR_H

extern const char *const osLoggerDir;

#endif
