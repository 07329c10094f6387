/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Read several times by LTTng's headers, which make something else of it each time. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER desktrace_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng-events.h"

#if !defined(LTTNG_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_EVENTS_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(desktrace_bench, off, LTTNG_UST_TP_ARGS(unsigned, i),
        LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int64_t, i, i)))
LTTNG_UST_TRACEPOINT_EVENT(desktrace_bench, instant, LTTNG_UST_TP_ARGS(void), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(desktrace_bench, begin, LTTNG_UST_TP_ARGS(void), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(desktrace_bench, end, LTTNG_UST_TP_ARGS(void), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(desktrace_bench, args,
        LTTNG_UST_TP_ARGS(unsigned, number, const char *, text),
        LTTNG_UST_TP_FIELDS(
                lttng_ust_field_integer(int64_t, number, number)
                lttng_ust_field_string(text, text)))
LTTNG_UST_TRACEPOINT_EVENT(desktrace_bench, counter, LTTNG_UST_TP_ARGS(unsigned, value),
        LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int64_t, value, value)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
