/*
 * win/os/win_attach.c --
 *
 *	Implements attach/attach.h on Windows, where it is not available.
 */
#include "attach/attach.h"
#include <stddef.h>

static EtwStatus notHere(EtwError *err)
{
    return EtwFail(err, ETW_E_UNSUPPORTED, "PLATFORM", NULL,
            "etw attaches to running programs on Linux x86-64 only: start the program by \"etw "
            "record\"");
}

EtwStatus OsAttach(
        uint32_t pid, const OsAttachRequest *request, OsAttached *attached, EtwError *err)
{
    (void)pid;
    (void)request;
    (void)attached;
    return notHere(err);
}

EtwStatus OsAttachStatus(uint32_t pid, uint64_t address, EtwAttachStatus *status, EtwError *err)
{
    (void)pid;
    (void)address;
    (void)status;
    return notHere(err);
}
