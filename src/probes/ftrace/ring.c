/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "probes/ftrace/ring.h"

#define EVENT_PATH_BYTES 256

/* Larger sub-buffers than a page make a third of the system calls' cost; kernels before 6.8 do not have them, and
 * there may be no memory in such pieces. */
static void ring_size_pages(Ring *ring) {
        ring->n_page = (size_t)sysconf(_SC_PAGESIZE);
        if (instance_write_number(
                    ring->instance, "buffer_subbuf_size_kb", FTRACE_SUBBUFFER_KB, NULL) == 0)
                ring->n_page = MAX(ring->n_page, (size_t)FTRACE_SUBBUFFER_KB * 1024);
}

static int ring_size_buffers(Ring *ring, const FtraceSetup *setup, char **ret_error) {
        ring_size_pages(ring);
        return instance_write_number(
                ring->instance, "buffer_size_kb", setup->settings.buffer_kb, ret_error);
}

static int ring_filter_syscalls(Ring *ring, const FtraceSetup *setup, char **ret_error) {
        static const char *const files[] = { "events/raw_syscalls/sys_enter/filter",
                                             "events/raw_syscalls/sys_exit/filter" };
        int r = 0;

        for (size_t i = 0; setup->syscall_filter && r == 0 && i < ARRAY_SIZE(files); i++)
                r = instance_write(ring->instance, files[i], setup->syscall_filter, ret_error);
        return r;
}

static int ring_enable_event(Ring *ring, const FtraceEvent *event, char **ret_error) {
        char file[EVENT_PATH_BYTES];

        /* Since 6.16 an instance can have a copy of what programs write to the trace_marker that they know. Older
         * kernels give only what is written to the instance's own. */
        if (ftrace_event_is_print(event)) {
                (void)instance_write(ring->instance, "options/copy_trace_marker", "1", NULL);
                return 0;
        }
        snprintf(file, sizeof(file), "events/%s/enable", event->name);
        return instance_write(ring->instance, file, "1", ret_error);
}

/* What the kernel refuses is told, and the rest is recorded, unless there is no rest. */
static int ring_enable_events(Ring *ring, FtraceSetup *setup, ProbeNotes *notes, char **ret_error) {
        _cleanup_(freep) char *first_error = NULL;
        size_t n_enabled = 0;

        for (size_t i = 0; i < setup->n_events; i++) {
                FtraceEvent *event = &setup->events[i];
                _cleanup_(freep) char *error = NULL;
                int r;

                if (event->failed)
                        continue;
                r = ring_enable_event(ring, event, &error);
                if (r < 0)
                        return r;
                n_enabled += r == 0;
                event->failed = r == PROBE_E_REFUSED;
                if (event->failed)
                        probe_note(notes, "%s", error);
                if (event->failed && !first_error)
                        first_error = TAKE(error);
        }
        if (n_enabled > 0)
                return 0;
        return probe_refuse(ret_error,
                            "nothing to record: %s",
                            first_error ?: "the formats of all events are unknown");
}

/* Filters and options of the whole instance come before the events: nothing unwanted is ever recorded. */
static int ring_apply(Ring *ring, FtraceSetup *setup, ProbeNotes *notes, char **ret_error) {
        int r;

        r = instance_write(ring->instance, "trace_clock", "boot", ret_error);
        if (r == 0)
                r = ring_size_buffers(ring, setup, ret_error);
        if (r == 0)
                r = ring_filter_syscalls(ring, setup, ret_error);
        if (r == 0)
                r = ring_enable_events(ring, setup, notes, ret_error);
        return r;
}

int ring_new(Ring **ret, FtraceSetup *setup, ProbeNotes *notes, char **ret_error) {
        _cleanup_(ring_freep) Ring *ring = NULL;
        int r;

        ring = calloc(1, sizeof(*ring));
        if (!ring)
                return -ENOMEM;
        r = instance_new(&ring->instance, setup->dir, ret_error);
        if (r == 0)
                r = ring_apply(ring, setup, notes, ret_error);
        if (r != 0)
                return r;
        *ret = TAKE(ring);
        return 0;
}

Ring *ring_free(Ring *ring) {
        if (!ring)
                return NULL;
        instance_free(ring->instance);
        free(ring);
        return NULL;
}
