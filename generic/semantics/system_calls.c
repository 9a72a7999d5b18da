/*
 * semantics/system_calls.c --
 *
 *	See semantics/system_calls.h. What a call's parameters are is data (system_calls_data.c); the few
 *	parameters that depend on another one are here.
 */
#include "semantics/system_calls.h"
#include "schema/model/linux_names.h"
#include "semantics/system_calls_int.h"

enum { ARGUMENTS = 6, ERRNOS = 4095 };

/* Numbers of the calls that are treated here. */
enum {
    CALL_MMAP = 9,
    CALL_BRK = 12,
    CALL_MREMAP = 25,
    CALL_SHMAT = 30,
    CALL_SOCKET = 41,
    CALL_SOCKETPAIR = 53,
    CALL_SETSOCKOPT = 54,
    CALL_GETSOCKOPT = 55,
    CALL_FCNTL = 72,
    CALL_FUTEX = 202
};

static const SystemCall *findCall(uint64_t number)
{
    int low = 0, high = etwSystemCallCount;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (etwSystemCalls[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < etwSystemCallCount && etwSystemCalls[low].number == number ? &etwSystemCalls[low]
                                                                            : NULL;
}

/* ---- Parameters that depend on another one ----------------------------------------------------- */

static SystemCallWay fcntlWay(uint32_t command)
{
    switch (command) {
    case 1:    /* F_GETFD */
    case 3:    /* F_GETFL */
    case 9:    /* F_GETOWN */
    case 11:   /* F_GETSIG */
    case 1025: /* F_GETLEASE */
    case 1032: /* F_GETPIPE_SZ */
    case 1034: /* F_GET_SEALS */
        return WAY_NONE;
    case 0:    /* F_DUPFD */
    case 8:    /* F_SETOWN */
    case 1030: /* F_DUPFD_CLOEXEC */
    case 1031: /* F_SETPIPE_SZ */
        return WAY_INT;
    case 2: /* F_SETFD */
        return SET_DESCRIPTOR;
    case 4: /* F_SETFL */
        return SET_OPEN;
    case 10: /* F_SETSIG */
        return SET_SIGNAL;
    default:
        return WAY_HEX;
    }
}

static int futexCount(uint32_t operation)
{
    switch (operation & 0x7f) {
    case 0: /* FUTEX_WAIT */
        return 4;
    case 1: /* FUTEX_WAKE */
        return 3;
    case 7: /* FUTEX_UNLOCK_PI */
    case 8: /* FUTEX_TRYLOCK_PI */
        return 2;
    default:
        return ARGUMENTS;
    }
}

static SystemCallWay protocolWay(uint32_t family)
{
    enum { INET = 2, INET6 = 10 };
    return family == INET || family == INET6 ? SET_PROTOCOL : WAY_INT;
}

static SystemCallWay socketOptionWay(uint32_t level)
{
    enum { SOCKET_LEVEL = 1, TCP_LEVEL = 6 };
    return level == SOCKET_LEVEL ? SET_SOCKETOPTION : level == TCP_LEVEL ? SET_TCPOPTION : WAY_INT;
}

/* WAY_NONE: the call has no such argument. */
static SystemCallWay wayOf(const SystemCall *call, int i, const uint64_t *arguments)
{
    enum { O_CREAT_BIT = 0x40, O_TMPFILE_BIT = 0x400000 };
    SystemCallWay way = (SystemCallWay)call->ways[i];
    if (way == WAY_CREATE_MODE) {
        return arguments[i - 1] & (O_CREAT_BIT | O_TMPFILE_BIT) ? WAY_MODE : WAY_NONE;
    }
    switch (call->number) {
    case CALL_FCNTL:
        return i == 2 ? fcntlWay((uint32_t)arguments[1]) : way;
    case CALL_FUTEX:
        return i < futexCount((uint32_t)arguments[1]) ? way : WAY_NONE;
    case CALL_SOCKET:
    case CALL_SOCKETPAIR:
        return i == 2 ? protocolWay((uint32_t)arguments[0]) : way;
    case CALL_SETSOCKOPT:
    case CALL_GETSOCKOPT:
        return i == 2 ? socketOptionWay((uint32_t)arguments[1]) : way;
    default:
        return way;
    }
}

/* ---- Values -------------------------------------------------------------------------------------- */

static void addHex(EtwText *out, uint64_t v)
{
    EtwTextPrintf(out, "0x%llx", (unsigned long long)v);
}

static void addSet(EtwText *out, const SystemCallSet *set, uint32_t v)
{
    enum { DECIMAL = 1000 };
    const char *choice = set->choices.count > 0 ? EtwMapName(&set->choices, v & set->mask) : NULL;
    uint32_t rest = v;
    if (set->mask == 0 && v != 0) { /* the choice is the name of no flags: PROT_NONE */
        choice = NULL;
    } else if (choice != NULL) {
        rest &= ~set->mask;
    }
    size_t from = out->size;
    if (choice != NULL) {
        EtwTextStr(out, choice);
    }
    for (int i = 0; i < set->flagCount && rest != 0; i++) {
        uint32_t flag = (uint32_t)set->flags[i].value;
        if ((rest & flag) == flag) {
            if (out->size > from) {
                EtwTextChar(out, '|');
            }
            EtwTextStr(out, set->flags[i].name);
            rest &= ~flag;
        }
    }
    if (rest == 0 && out->size > from) {
        return;
    }
    if (out->size > from) {
        EtwTextChar(out, '|');
    }
    if (rest <
            (set->flagCount > 0 ? 1 : DECIMAL)) { /* small choices without a name, as signal 34 */
        EtwTextDecimal(out, rest);
    } else {
        addHex(out, rest);
    }
}

static void addArgument(EtwText *out, SystemCallWay way, uint64_t v)
{
    enum { CURRENT_DIRECTORY = -100 };
    switch (way) {
    case WAY_DIRECTORY:
        if ((int32_t)v == CURRENT_DIRECTORY) {
            EtwTextStr(out, "AT_FDCWD");
            return;
        }
        EtwTextSigned(out, (int32_t)v);
        return;
    case WAY_INT:
        EtwTextSigned(out, (int32_t)v);
        return;
    case WAY_UINT:
        EtwTextDecimal(out, (uint32_t)v);
        return;
    case WAY_INT64:
        EtwTextSigned(out, (int64_t)v);
        return;
    case WAY_UINT64:
        EtwTextDecimal(out, v);
        return;
    case WAY_POINTER:
        if (v == 0) {
            EtwTextStr(out, "NULL");
            return;
        }
        addHex(out, v);
        return;
    case WAY_MODE:
    case WAY_CREATE_MODE:
        EtwTextPrintf(out, "%#03o", (unsigned)(v & 0xffff));
        return;
    default:
        if (way >= SET_FIRST) {
            addSet(out, &etwSystemCallSets[way - SET_FIRST], (uint32_t)v);
        } else if (v == 0) {
            EtwTextChar(out, '0');
        } else {
            addHex(out, v);
        }
    }
}

/* ---- Calls --------------------------------------------------------------------------------------- */

/* false: the event has no arguments behind the number of the call. */
static bool readArguments(const EtwRoleValues *e, uint64_t *arguments)
{
    int first = e->semantics->field[ETW_ROLE_SYSCALL] + 1;
    for (int i = 0; i < ARGUMENTS; i++) {
        const char name[] = {'A', 'r', 'g', (char)('0' + i), '\0'};
        int at = first + i;
        if (at >= e->schema->fieldCount || at >= ETW_ROLE_FIELDS || !(e->found >> at & 1) ||
                e->values[at].kind != ETW_V_UINT || strcmp(e->schema->fields[at].name, name) != 0) {
            return false;
        }
        arguments[i] = e->values[at].u;
    }
    return true;
}

bool EtwSystemCallText(EtwText *out, const EtwRoleValues *e)
{
    uint64_t arguments[ARGUMENTS];
    char number[24];
    const SystemCall *call = findCall(EtwRoleNumber(e, ETW_ROLE_SYSCALL));
    if (call == NULL || !readArguments(e, arguments)) {
        return false;
    }
    EtwTextStr(out, EtwRoleName(e, ETW_ROLE_SYSCALL, number, sizeof number));
    EtwTextChar(out, '(');
    for (int i = 0; i < call->count; i++) {
        SystemCallWay way = wayOf(call, i, arguments);
        if (way == WAY_NONE) {
            break;
        }
        if (i > 0) {
            EtwTextStr(out, ", ");
        }
        addArgument(out, way, arguments[i]);
    }
    EtwTextChar(out, ')');
    return true;
}

void EtwFailureText(EtwText *out, const EtwRoleValues *e, EtwRole role)
{
    const EtwValue *v = EtwRoleValue(e, role);
    const EtwMap *map = e->schema->fields[e->semantics->field[role]].map;
    const char *name = map != NULL ? EtwMapName(map, v->u) : NULL;
    EtwTextStr(out, " failed: ");
    if (name != NULL) {
        EtwTextStr(out, name + (name[0] == '-'));
        EtwTextStr(out, " (");
    }
    EtwTextSigned(out, v->i);
    if (name != NULL) {
        EtwTextChar(out, ')');
    }
}

bool EtwSystemCallResult(EtwText *out, const EtwRoleValues *e)
{
    char number[24];
    const EtwValue *result = EtwRoleValue(e, ETW_ROLE_OUTCOME);
    if (result == NULL || EtwRoleValue(e, ETW_ROLE_SYSCALL) == NULL) {
        return false;
    }
    EtwTextStr(out, EtwRoleName(e, ETW_ROLE_SYSCALL, number, sizeof number));
    if (result->i < 0 && result->i >= -ERRNOS) {
        EtwFailureText(out, e, ETW_ROLE_OUTCOME);
        return true;
    }
    EtwTextStr(out, " = ");
    switch (EtwRoleNumber(e, ETW_ROLE_SYSCALL)) {
    case CALL_MMAP:
    case CALL_BRK:
    case CALL_MREMAP:
    case CALL_SHMAT:
        addHex(out, result->u);
        break;
    default:
        EtwTextSigned(out, result->i);
        break;
    }
    return true;
}
