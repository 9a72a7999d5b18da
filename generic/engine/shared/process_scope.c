/*
 * engine/shared/process_scope.c --
 *
 *	See process_scope.h.
 */
#include "engine/shared/process_scope.h"
#include <stdlib.h>

uint64_t processScope[SCOPE_SESSIONS];

/* The digits at *textPtr, which moves behind them. 0: none, or too many for an instance. */
static uint64_t number(const char **textPtr)
{
    uint64_t value = 0;
    const char *at = *textPtr;
    for (; *at >= '0' && *at <= '9'; at++) {
        value = at - *textPtr < 19 ? value * 10 + (uint64_t)(*at - '0') : 0;
    }
    *textPtr = at;
    return value;
}

void ProcessScopeRead(void)
{
    uint64_t found[SCOPE_SESSIONS] = {0};
    const char *at = getenv("ETW_SCOPE");
    for (int count = 0; at != NULL; count++) {
        uint64_t instance = number(&at);
        if (instance == 0 || (*at != ',' && *at != '\0')) {
            return;
        }
        if (count < SCOPE_SESSIONS) {
            found[count] = instance;
        }
        at = *at == ',' ? at + 1 : NULL;
    }
    for (int i = 0; i < SCOPE_SESSIONS; i++) {
        processScope[i] = found[i];
    }
}
