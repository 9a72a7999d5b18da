/*
 * base/status.c --
 *
 *	Fills an EtwError. No translation, no output.
 */
#include "base/status.h"
#include "base/alloc.h"
#include "base/os.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(EtwError *err, EtwStatus status, const char *detail, const char *subject)
{
    err->status = status;
    err->osError = 0;
    snprintf(err->detail, sizeof err->detail, "%s", detail ? detail : "");
    snprintf(err->subject, sizeof err->subject, "%s", subject ? subject : "");
}

EtwStatus EtwFail(EtwError *err, EtwStatus status, const char *detail, const char *subject,
        const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        fill(err, status, detail, subject);
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return status;
}

EtwStatus EtwFailOs(EtwError *err, EtwStatus status, int osError, const char *detail,
        const char *subject, const char *format, ...)
{
    const char *hint = OsFileLimitHint(osError);
    if (hint != NULL) {
        status = ETW_E_LIMIT;
        detail = "FILES";
    }
    if (err != NULL) {
        va_list args;
        char text[200];
        size_t used;
        fill(err, status, detail, subject);
        err->osError = osError;
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
        used = strlen(err->message);
        snprintf(err->message + used, sizeof err->message - used, ": %s%s%s",
                OsErrorText(osError, text, sizeof text), hint ? ": " : "", hint ? hint : "");
    }
    return status;
}

const char *EtwStatusName(EtwStatus status)
{
    switch (status) {
    case ETW_OK:
        return "OK";
    case ETW_END:
        return "END";
    case ETW_AGAIN:
        return "AGAIN";
    case ETW_PAUSE:
        return "PAUSE";
    case ETW_E_ARG:
        return "ARG";
    case ETW_E_STATE:
        return "STATE";
    case ETW_E_LOOKUP:
        return "LOOKUP";
    case ETW_E_FORMAT:
        return "FORMAT";
    case ETW_E_IO:
        return "IO";
    case ETW_E_LIMIT:
        return "LIMIT";
    case ETW_E_ACCESS:
        return "ACCESS";
    case ETW_E_UNSUPPORTED:
        return "UNSUPPORTED";
    case ETW_E_MEMORY:
        return "MEMORY";
    }
    return "UNKNOWN";
}

/* More bytes than the path of any directory has. */
enum { LONGEST_DIRECTORY = 128 * 1024 };

EtwStatus OsNeedFullPath(const char *path, char *full, size_t size, EtwError *errPtr)
{
    if (OsFullPath(path, full, size)) {
        return ETW_OK;
    }
    size_t enough = size + strlen(path) + LONGEST_DIRECTORY;
    char *whole = EtwAlloc(enough);
    bool exists = OsFullPath(path, whole, enough);
    EtwFree(whole);
    full[0] = '\0';
    return exists ? EtwFail(errPtr, ETW_E_LIMIT, "PATH", path,
                            "the path of the file \"%.200s\", from the root directory, has more "
                            "than "
                            "%lu bytes: use a shorter path",
                            path, (unsigned long)(size - 1))
                  : EtwFail(errPtr, ETW_E_LOOKUP, "DIRECTORY", path,
                            "the current directory does not exist: \"%.200s\" must be an absolute "
                            "path",
                            path);
}
