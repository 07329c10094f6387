/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Ftrace state: the part of a config that determines an instance's state */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/ftrace/ftrace-state.h"
#include "probes/ftrace/syscall-names.h"
#include "shared/text.h"

#define EVENT_FILE_BYTES 256

#if defined(__x86_64__)
#define IS_X86_64 true
#else
#define IS_X86_64 false
#endif

typedef Perfetto__Protos__FtraceConfig__EventFilter FilterConfig;
typedef Perfetto__Protos__FtraceConfig__TracefsOption OptionConfig;

static int refuse_long_filter(const char *what, char **ret_error) {
        return probe_refuse(ret_error,
                            "%s: the filter is too long; the kernel takes %d bytes",
                            what,
                            FILTER_BYTES_MAX);
}

/* System calls by name become a filter of the two events that stand for all calls. */
static int add_syscalls(InstanceState *state, const FtraceConfig *config, char **ret_error) {
        static const char *const files[] = { "events/raw_syscalls/sys_enter/filter",
                                             "events/raw_syscalls/sys_exit/filter" };
        _cleanup_(freep) char *filter = NULL;
        int r;

        if (config->n_syscall_events == 0)
                return 0;
        r = syscall_filter_new(
                &filter, config->syscall_events, config->n_syscall_events, ret_error);
        if (r == 0 && strlen(filter) > FILTER_BYTES_MAX)
                r = refuse_long_filter("syscall_events", ret_error);
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(files); i++)
                r = instance_state_add(state, "syscall_events", files[i], filter);
        return r;
}

/* Finds an event by its full name or by its bare name. */
static const char *find_event(const EventSelection *selection, const char *name) {
        for (size_t i = 0; i < selection->n_events; i++) {
                const EventName *event = &selection->events[i];

                if (streq(event->text, name) || streq(event->text + event->n_group + 1, name))
                        return event->text;
        }
        return NULL;
}

static bool is_unknown(const EventSelection *selection, const char *name) {
        for (size_t i = 0; i < selection->n_unknown; i++)
                if (streq(selection->unknown[i].name, name))
                        return true;
        return false;
}

static int refuse_other_event(const EventSelection *selection, const char *name, char **ret_error) {
        _cleanup_(freep) const char **names = calloc(selection->n_events, sizeof(*names));
        const char *nearest;

        if (!names)
                return -ENOMEM;
        for (size_t i = 0; i < selection->n_events; i++)
                names[i] = selection->events[i].text +
                           (strchr(name, '/') ? 0 : selection->events[i].n_group + 1);
        nearest = text_nearest(name, names, selection->n_events);
        if (nearest)
                return probe_refuse(ret_error,
                                    "event_filters: \"%s\" is not among the events that are "
                                    "recorded; did you mean \"%s\"?",
                                    name,
                                    nearest);
        return probe_refuse(ret_error,
                            "event_filters: \"%s\" is not among the events that are recorded; "
                            "add it to ftrace_events",
                            name);
}

/* If the event already has a filter, as for system calls, both must hold. */
static int
add_filter(InstanceState *state, const char *event, const char *expression, char **ret_error) {
        _cleanup_(freep) char *what = NULL, *both = NULL;
        char file[EVENT_FILE_BYTES];
        InstanceWrite *before;

        snprintf(file, sizeof(file), "events/%s/filter", event);
        if (asprintf(&what, "event_filters of \"%s\"", event) < 0) {
                what = NULL;
                return -ENOMEM;
        }
        before = instance_state_find(state, file);
        if (before && asprintf(&both, "(%s) && (%s)", before->value, expression) < 0) {
                both = NULL;
                return -ENOMEM;
        }
        if (strlen(both ?: expression) > FILTER_BYTES_MAX)
                return refuse_long_filter(what, ret_error);
        if (!before)
                return instance_state_add(state, what, file, expression);
        free(before->value);
        before->value = TAKE(both);
        free(before->what);
        before->what = TAKE(what);
        return 0;
}

static int add_event_filter(InstanceState *state,
                            const FilterConfig *filter,
                            const EventSelection *selection,
                            ProbeNotes *notes,
                            char **ret_error) {
        const char *event;

        if (!filter->event || !filter->filter || !*filter->filter)
                return probe_refuse(ret_error,
                                    "event_filters: each needs an event and a filter, for example "
                                    "event: \"sched/sched_switch\" filter: \"next_prio < 100\"");
        event = find_event(selection, filter->event);
        if (event && streq(event, "ftrace/print"))
                return probe_refuse(ret_error,
                                    "event_filters: the kernel cannot filter \"%s\"; use "
                                    "print_filter",
                                    event);
        if (event)
                return add_filter(state, event, filter->filter, ret_error);
        if (!is_unknown(selection, filter->event))
                return refuse_other_event(selection, filter->event, ret_error);
        probe_note(notes,
                   "the filter of \"%s\" has no effect: this kernel lacks the event",
                   filter->event);
        return 0;
}

/* On x86-64, since 6.11, a probed return arrives by a system call of its own (335; 336 is that of an entry, since
 * 6.18). Such a call would begin inside the function and end after it, and no reader can draw that. */
static int add_probe_calls(InstanceState *state,
                           const FtraceConfig *config,
                           const EventSelection *selection,
                           char **ret_error) {
        static const char *const events[] = { "raw_syscalls/sys_enter", "raw_syscalls/sys_exit" };
        int r = 0;

        if (config->n_uprobe_events == 0 || !IS_X86_64)
                return 0;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(events); i++)
                if (find_event(selection, events[i]))
                        r = add_filter(state, events[i], "id != 335 && id != 336", ret_error);
        return r;
}

static int add_tids(InstanceState *state, const FtraceConfig *config, char **ret_error) {
        _cleanup_(freep) char *tids = NULL;
        size_t n_tids;
        FILE *stream;

        if (config->n_tids_to_trace == 0)
                return 0;
        if (config->n_tids_to_trace > TIDS_MAX)
                return probe_refuse(ret_error,
                                    "tids_to_trace has %zu threads; at most %d are allowed",
                                    config->n_tids_to_trace,
                                    TIDS_MAX);
        stream = open_memstream(&tids, &n_tids);
        if (!stream)
                return -ENOMEM;
        for (size_t i = 0; i < config->n_tids_to_trace; i++)
                fprintf(stream, "%s%u", i ? " " : "", config->tids_to_trace[i]);
        if (fclose(stream) < 0)
                return -ENOMEM;
        return instance_state_add(state, "tids_to_trace", "set_event_pid", tids);
}

/* A name as in the options directory, which cannot be a path. */
static bool is_option_name(const char *name) {
        return *name && strlen(name) < 64 &&
               strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(name);
}

/* One of these options takes the kernel's own texts away from all other users. With the other, programs cannot write
 * theirs while the ring is not recording (see ring_copy_markers()). */
static bool is_of_machine(const char *name) {
        return streq(name, "trace_printk_dest") || streq(name, "copy_trace_marker");
}

static int add_option(InstanceState *state, const OptionConfig *option, char **ret_error) {
        char file[EVENT_FILE_BYTES], what[EVENT_FILE_BYTES];
        bool on = option->state ==
                  PERFETTO__PROTOS__FTRACE_CONFIG__TRACEFS_OPTION__STATE__STATE_ENABLED;

        if (!option->name || !is_option_name(option->name))
                return probe_refuse(ret_error,
                                    "tracefs_options: \"%.64s\" is no name of an option (see "
                                    "/sys/kernel/tracing/options)",
                                    option->name ?: "");
        if (is_of_machine(option->name))
                return probe_refuse(ret_error,
                                    "tracefs_options: \"%s\" is not of the recording alone; ask "
                                    "for the event \"ftrace/print\" to have texts",
                                    option->name);
        if (!on &&
            option->state != PERFETTO__PROTOS__FTRACE_CONFIG__TRACEFS_OPTION__STATE__STATE_DISABLED)
                return probe_refuse(ret_error,
                                    "tracefs_options: \"%s\" needs a state: STATE_ENABLED or "
                                    "STATE_DISABLED",
                                    option->name);
        snprintf(file, sizeof(file), "options/%s", option->name);
        snprintf(what, sizeof(what), "tracefs_options: \"%s\"", option->name);
        return instance_state_add(state, what, file, on ? "1" : "0");
}

static int add_options(InstanceState *state, const FtraceConfig *config, char **ret_error) {
        int r = 0;

        if (config->n_tracefs_options > TRACE_OPTIONS_MAX)
                return probe_refuse(ret_error,
                                    "tracefs_options has %zu of them; at most %d are allowed",
                                    config->n_tracefs_options,
                                    TRACE_OPTIONS_MAX);
        for (size_t i = 0; r == 0 && i < config->n_tracefs_options; i++)
                r = add_option(state, config->tracefs_options[i], ret_error);
        return r;
}

static int add_cpumask(InstanceState *state, const FtraceConfig *config, char **ret_error) {
        const char *mask = config->tracing_cpumask;

        if (!mask || !*mask)
                return 0;
        if (strlen(mask) > CPUMASK_BYTES_MAX ||
            strspn(mask, "0123456789abcdefABCDEF,") != strlen(mask))
                return probe_refuse(ret_error,
                                    "tracing_cpumask: \"%.64s\" is no mask; write hexadecimal "
                                    "digits, with a comma between words of 32 CPUs: \"f\" for the "
                                    "first four",
                                    mask);
        return instance_state_add(state, "tracing_cpumask", "tracing_cpumask", mask);
}

/* Modules, and commands behind a colon, would do more than choose functions. */
static int add_functions(InstanceState *state,
                         const char *what,
                         const char *file,
                         char *const *names,
                         size_t n_names,
                         char **ret_error) {
        _cleanup_(freep) char *lines = NULL;
        size_t n_lines;
        FILE *stream;

        if (n_names == 0)
                return 0;
        if (n_names > FUNCTION_NAMES_MAX)
                return probe_refuse(ret_error,
                                    "%s has %zu names; at most %d are allowed (they may have "
                                    "stars)",
                                    what,
                                    n_names,
                                    FUNCTION_NAMES_MAX);
        for (size_t i = 0; i < n_names; i++)
                if (!*names[i] || strpbrk(names[i], ": \t\r\n!"))
                        return probe_refuse(
                                ret_error, "%s: \"%.64s\" is no name of functions", what, names[i]);
        stream = open_memstream(&lines, &n_lines);
        if (!stream)
                return -ENOMEM;
        for (size_t i = 0; i < n_names; i++)
                fprintf(stream, "%s\n", names[i]);
        if (fclose(stream) < 0)
                return -ENOMEM;
        return instance_state_add(state, what, file, lines);
}

/* The tracer comes last, because it starts with whatever was chosen before. */
static int add_function_graph(InstanceState *state, const FtraceConfig *config, char **ret_error) {
        char depth[16];
        int r;

        if (!config->enable_function_graph)
                return 0;
        r = add_functions(state,
                          "function_filters",
                          "set_ftrace_filter",
                          config->function_filters,
                          config->n_function_filters,
                          ret_error);
        if (r == 0)
                r = add_functions(state,
                                  "function_graph_roots",
                                  "set_graph_function",
                                  config->function_graph_roots,
                                  config->n_function_graph_roots,
                                  ret_error);
        if (r == 0 && config->function_graph_max_depth > 0) {
                snprintf(depth, sizeof(depth), "%u", config->function_graph_max_depth);
                r = instance_state_add(state, "function_graph_max_depth", "max_graph_depth", depth);
        }
        if (r == 0)
                r = instance_state_add(
                        state, "enable_function_graph", "current_tracer", "function_graph");
        return r;
}

int ftrace_state_init(InstanceState *ret,
                      const FtraceConfig *config,
                      const EventSelection *selection,
                      ProbeNotes *notes,
                      char **ret_error) {
        _cleanup_(instance_state_deinit) InstanceState state = {};
        int r;

        r = add_syscalls(&state, config, ret_error);
        for (size_t i = 0; r == 0 && i < config->n_event_filters; i++)
                r = add_event_filter(&state, config->event_filters[i], selection, notes, ret_error);
        if (r == 0)
                r = add_probe_calls(&state, config, selection, ret_error);
        if (r == 0)
                r = add_tids(&state, config, ret_error);
        if (r == 0)
                r = add_options(&state, config, ret_error);
        if (r == 0)
                r = add_cpumask(&state, config, ret_error);
        if (r == 0)
                r = add_function_graph(&state, config, ret_error);
        if (r != 0)
                return r;
        *ret = state;
        state = (InstanceState){};
        return 0;
}
