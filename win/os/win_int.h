/*
 * win/os/win_int.h --
 *
 *	Declarations that the files of Windows' platform layer share (win/os), and conversions of text
 *	that the system engine uses as well (win/system).
 */
#ifndef ETW_WIN_INT_H
#define ETW_WIN_INT_H

#define WIN32_LEAN_AND_MEAN
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0601 /* Windows 7 */
#endif
#include <windows.h>
#include "base/os.h"

char *OsWinToUtf8(const wchar_t *text);          /* caller frees (EtwFree) */
wchar_t *OsWinFromUtf8(const char *text);        /* caller frees */
DWORD OsWinToMs(int64_t ns);                     /* rounded up */
int64_t OsWinFileTimeToUnix(const FILETIME *ft); /* ns since 1970 */

#endif
