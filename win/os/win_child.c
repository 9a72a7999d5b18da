/*
 * win/os/win_child.c --
 *
 *	Implements base/child.h on Windows: a process that is created suspended, with our standard
 *	handles. The command line is quoted for CommandLineToArgvW. Ctrl-C in a console reaches both
 *	processes.
 */
#include "win/os/win_int.h"
#include "base/alloc.h"
#include "base/child.h"
#include <stdatomic.h>
#include <string.h>

struct OsChild {
    PROCESS_INFORMATION process;
    bool went;
};

/* ---- The command line -------------------------------------------------------------------------- */

/*
 * Append one argument, quoted if it must be: cmd.exe does not recognize its own commands in quotes.
 * Backslashes are doubled before a quote. Returns the end.
 */
static char *putQuoted(char *at, const char *text)
{
    size_t slashes = 0;

    if (*text != '\0' && text[strcspn(text, " \t\n\v\"")] == '\0') {
        size_t size = strlen(text);
        memcpy(at, text, size);
        return at + size;
    }
    *at++ = '"';
    for (; *text != '\0'; text++) {
        size_t extra = *text == '"' ? slashes + 1 : 0;
        memset(at, '\\', extra);
        at += extra;
        slashes = *text == '\\' ? slashes + 1 : 0;
        *at++ = *text;
    }
    memset(at, '\\', slashes);
    at += slashes;
    *at++ = '"';
    return at;
}

static wchar_t *commandLine(char *const argv[])
{
    size_t size = 1;
    char *line, *at;
    wchar_t *wide;

    for (int i = 0; argv[i] != NULL; i++) {
        size += 2 * strlen(argv[i]) + 3;
    }
    at = line = EtwAlloc(size);
    for (int i = 0; argv[i] != NULL; i++) {
        if (i > 0) {
            *at++ = ' ';
        }
        at = putQuoted(at, argv[i]);
    }
    *at = '\0';
    wide = OsWinFromUtf8(line);
    EtwFree(line);
    return wide;
}

/* ---- The process ------------------------------------------------------------------------------- */

EtwStatus OsChildStart(char *const argv[], OsChild **childPtr, EtwError *err)
{
    STARTUPINFOW startup = {.cb = sizeof startup, .dwFlags = STARTF_USESTDHANDLES};
    OsChild *child = EtwAlloc(sizeof *child);
    wchar_t *line = commandLine(argv);
    BOOL made;

    startup.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    startup.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
    startup.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    SetHandleInformation(startup.hStdInput, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    SetHandleInformation(startup.hStdOutput, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    SetHandleInformation(startup.hStdError, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    made = CreateProcessW(
            NULL, line, NULL, NULL, TRUE, CREATE_SUSPENDED, NULL, NULL, &startup, &child->process);
    EtwFree(line);
    if (!made) {
        EtwFree(child);
        return EtwFailOs(err, ETW_E_IO, (int)GetLastError(), "CHILD", argv[0],
                "cannot execute \"%s\"", argv[0]);
    }
    *childPtr = child;
    return ETW_OK;
}

uint32_t OsChildPid(const OsChild *child)
{
    return child->process.dwProcessId;
}

EtwStatus OsChildResume(OsChild *child, EtwError *err)
{
    child->went = true;
    if (ResumeThread(child->process.hThread) == (DWORD)-1) {
        return EtwFailOs(
                err, ETW_E_IO, (int)GetLastError(), "CHILD", "", "cannot resume the program");
    }
    return ETW_OK;
}

bool OsChildWait(OsChild *child, int ms, OsChildEnd *endPtr)
{
    DWORD code = 0;

    if (WaitForSingleObject(child->process.hProcess, ms < 0 ? INFINITE : (DWORD)ms) !=
            WAIT_OBJECT_0) {
        return false;
    }
    GetExitCodeProcess(child->process.hProcess, &code);
    endPtr->killed = false;
    endPtr->code = (int)code;
    return true;
}

/*
 * Does nothing: the console sends Ctrl-C to the child, and Windows has no other request to end that
 * all programs receive.
 */
void OsChildInterrupt(OsChild *child)
{
    (void)child;
}

void OsChildFree(OsChild *child)
{
    if (!child->went) {
        TerminateProcess(child->process.hProcess, 127);
    }
    CloseHandle(child->process.hThread);
    CloseHandle(child->process.hProcess);
    EtwFree(child);
}

/* ---- Ctrl-C ------------------------------------------------------------------------------------ */

static atomic_int interrupts;

static BOOL WINAPI onControl(DWORD kind)
{
    atomic_fetch_add_explicit(
            &interrupts, 1, memory_order_relaxed); /* a counter only: no order is needed */
    return kind == CTRL_C_EVENT || kind == CTRL_BREAK_EVENT;
}

void OsInterruptsCatch(void)
{
    SetConsoleCtrlHandler(onControl, TRUE);
}

int OsInterrupts(int *directPtr)
{
    if (directPtr != NULL) {
        *directPtr = 0;
    }
    return atomic_load_explicit(&interrupts, memory_order_relaxed);
}
