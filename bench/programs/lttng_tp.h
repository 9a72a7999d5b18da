/*
 * bench/programs/lttng_tp.h --
 *
 *	The tracepoint of the LTTng-UST peer, with the same payload as the event of
 *	bench/programs/write.c.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER etw_peer
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench/programs/lttng_tp.h"

#if !defined(ETW_LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define ETW_LTTNG_TP_H

#include <lttng/tracepoint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(etw_peer, write,
    LTTNG_UST_TP_ARGS(uint64_t, value, const char *, text),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint64_t, value, value)
        lttng_ust_field_string(text, text)))
/* clang-format on */

#endif
#include <lttng/tracepoint-event.h>
