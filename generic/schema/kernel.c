/*
 * schema/kernel.c --
 *
 *	Which table describes a record of Windows' kernel.
 */
#include "schema/internal.h"

const EtwSchema *EtwKernelSchema(const EtwEvent *event)
{
    return EtwGuidEqual(&event->provider, &etwEventTraceGuid)
                   ? EtwEventTraceSchema(event->desc.opcode)
                   : NULL;
}
