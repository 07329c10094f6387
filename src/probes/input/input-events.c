/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Input events: kernel probes where devices report and programs read */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/probe.h"
#include "probes/input/input-events.h"

typedef Perfetto__Protos__FtraceConfig__KprobeEvent KprobeEvent;

/* Fields are found by their names, with the kernel's type information (BTF), so that no layout of a structure is
 * assumed. */
const FtraceConfig *input_events_config(void) {
        static char *report_args[] = { (char *)"handler=handle->name:string",
                                       (char *)"device=handle->dev->name:string",
                                       (char *)"count=count:u32" };
        static char *read_args[] = { (char *)"rdev=file->f_inode->i_rdev:u32",
                                     (char *)"bytes=$retval:s64" };
        static KprobeEvent events[INPUT_EVENTS_N], *pointers[INPUT_EVENTS_N];
        static FtraceConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__INIT;

        for (size_t i = 0; i < INPUT_EVENTS_N; i++) {
                perfetto__protos__ftrace_config__kprobe_event__init(&events[i]);
                events[i].has_type = true;
                pointers[i] = &events[i];
        }
        events[INPUT_EVENT_REPORT].probe = (char *)"evdev_events";
        events[INPUT_EVENT_REPORT].type =
                PERFETTO__PROTOS__FTRACE_CONFIG__KPROBE_EVENT__KPROBE_TYPE__KPROBE_TYPE_KPROBE;
        events[INPUT_EVENT_REPORT].name = (char *)"input_report";
        events[INPUT_EVENT_REPORT].args = report_args;
        events[INPUT_EVENT_REPORT].n_args = ARRAY_SIZE(report_args);
        events[INPUT_EVENT_READ].probe = (char *)"evdev_read";
        events[INPUT_EVENT_READ].type =
                PERFETTO__PROTOS__FTRACE_CONFIG__KPROBE_EVENT__KPROBE_TYPE__KPROBE_TYPE_KRETPROBE;
        events[INPUT_EVENT_READ].name = (char *)"input_read";
        events[INPUT_EVENT_READ].args = read_args;
        events[INPUT_EVENT_READ].n_args = ARRAY_SIZE(read_args);
        config.kprobe_events = pointers;
        config.n_kprobe_events = INPUT_EVENTS_N;
        return &config;
}

int input_events_check(const TraceDir *dir, char **ret_error) {
        _cleanup_(freep) char *readme = NULL;
        int r;

        if (faccessat(dir->fd, "kprobe_events", F_OK, AT_EACCESS) < 0 && errno == ENOENT)
                return probe_refuse(
                        ret_error,
                        "the kernel has no tracepoints of input devices, and no kprobes "
                        "to stand in for them: there is no %s/kprobe_events; use a "
                        "kernel with CONFIG_KPROBE_EVENTS, as distributions build it",
                        dir->path);
        r = trace_dir_read(dir, "README", &readme, NULL, ret_error);
        if (r != 0)
                return r;
        if (!strstr(readme, "<argname>[->field"))
                return probe_refuse(ret_error,
                                    "kprobes of this kernel cannot find fields by their names; use "
                                    "Linux 6.9 or newer with CONFIG_PROBE_EVENTS_BTF_ARGS, as "
                                    "distributions build it");
        return 0;
}

void input_events_deinit(InputEvents *events) {
        dynamic_events_free(events->dynamic);
        event_selection_deinit(&events->selection);
        *events = (InputEvents){};
}

int input_events_init(InputEvents *ret, const TraceDir *dir, char **ret_error) {
        _cleanup_(input_events_deinit) InputEvents events = {};
        int r;

        r = input_events_check(dir, ret_error);
        if (r == 0)
                r = dynamic_events_new(
                        &events.dynamic, dir, input_events_config(), &events.selection, ret_error);
        if (r != 0)
                return r;
        if (events.selection.n_unknown > 0)
                return probe_refuse(ret_error,
                                    "%s; it must have evdev (a module that the first input device "
                                    "loads), be Linux 6.9 or newer, and not be locked down",
                                    events.selection.unknown[0].why);
        *ret = events;
        events = (InputEvents){};
        return 0;
}
