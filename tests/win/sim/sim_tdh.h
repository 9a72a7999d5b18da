/*
 * tests/win/sim/sim_tdh.h --
 *
 *	What the files behind tdh_types.h share: the providers that are installed, and buffers in which
 *	structures are followed by the text that their offsets point to.
 */
#ifndef ETW_TESTS_WIN_SIM_TDH_H
#define ETW_TESTS_WIN_SIM_TDH_H

#include "tests/win/sim/sim.h"
#include "base/text.h"
#include "schema/model/provider_def.h"

extern const char simManifest[];
extern const size_t simManifestSize;

/* An installed provider; NULL: none. Definitions stay. */
const EtwProviderDef *SimTdhProvider(const GUID *guid);

/* UTF-16 text with its NUL appended; its offset. 0 for NULL. */
ULONG SimTdhText(EtwText *out, const char *utf8);
/* Hand out as tdh_types.h's functions do: the size needed, or all of it. Frees the text. */
ULONG SimTdhGive(EtwText *from, void *buffer, ULONG *sizePtr);
/* An event's name of a kind; "" : none. */
const char *SimTdhName(const EtwProviderDef *def, EtwNameKind kind, uint64_t value, uint16_t task);

#endif
