/*
 * script/hooks/hook_layer.c --
 *
 *	Selects the hook layer: the fast one if its self-check passes, otherwise the public one.
 *	ETW_SCRIPT_HOOKS=trace in the environment selects the latter (the tests run with both).
 */
#include "script/script_int.h"
#include <stdlib.h>
#include <string.h>

const EtwHookLayer *etwHookLayer;

const EtwHookLayer *EtwHookLayerGet(void)
{
    const char *asked = getenv("ETW_SCRIPT_HOOKS");
    if (asked != NULL && strcmp(asked, etwHookPublic.name) == 0) {
        return &etwHookPublic;
    }
    if (etwHookTclInt.check != NULL && etwHookTclInt.check()) {
        return &etwHookTclInt;
    }
    return &etwHookPublic;
}
