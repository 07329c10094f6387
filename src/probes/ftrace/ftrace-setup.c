/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Ftrace setup: what one FtraceConfig asks for, checked against the running kernel and prepared */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "probes/ftrace/ftrace-setup.h"
#include "probes/ftrace/ftrace-state.h"
#include "shared/fd.h"
#include "shared/log.h"

#define EVENT_PATH_BYTES   256
#define IMPLIED_EVENTS_MAX 4

static int setup_settings(FtraceSetup *setup, const FtraceConfig *config, char **ret_error) {
        struct sysinfo info;

        if (sysinfo(&info) < 0)
                return -errno;
        return ftrace_settings_init(&setup->settings,
                                    config,
                                    (uint64_t)info.totalram * info.mem_unit,
                                    (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
                                    ret_error);
}

/* All events that need generic messages may have been left out. */
static int
setup_refuse_nothing(const FtraceSetup *setup, const FtraceConfig *config, char **ret_error) {
        if (setup->selection.n_unknown > 0)
                return event_selection_refuse(&setup->selection, ret_error);
        return probe_refuse(
                ret_error,
                "nothing to record: %s",
                config->disable_generic_events
                        ? N_("all events are generic, and disable_generic_events is set")
                        : N_("the config names no event"));
}

/* The config's events, and those that other options of it imply. */
static size_t copy_patterns(char **to, const FtraceConfig *config) {
        static const char *const syscalls[] = { "raw_syscalls/sys_enter", "raw_syscalls/sys_exit" };
        static const char *const graph[] = { "ftrace/funcgraph_entry", "ftrace/funcgraph_exit" };
        size_t n = config->n_ftrace_events;

        if (n > 0)
                memcpy(to, config->ftrace_events, n * sizeof(*to));
        for (size_t i = 0; config->n_syscall_events > 0 && i < ARRAY_SIZE(syscalls); i++)
                to[n++] = (char *)syscalls[i];
        for (size_t i = 0; config->enable_function_graph && i < ARRAY_SIZE(graph); i++)
                to[n++] = (char *)graph[i];
        return n;
}

static int setup_select_events(FtraceSetup *setup,
                               const FtraceConfig *config,
                               ProbeNotes *notes,
                               char **ret_error) {
        _cleanup_(freep) char *available = NULL;
        _cleanup_(freep) char **patterns = NULL;
        int r;

        r = trace_dir_read(setup->dir, "available_events", &available, NULL, ret_error);
        if (r != 0)
                return r;
        patterns = calloc(config->n_ftrace_events + IMPLIED_EVENTS_MAX, sizeof(*patterns));
        if (!patterns)
                return -ENOMEM;
        r = event_select(&setup->selection,
                         available,
                         patterns,
                         copy_patterns(patterns, config),
                         !config->disable_generic_events,
                         ret_error);
        if (r == 0)
                r = dynamic_events_new(
                        &setup->dynamic, setup->dir, config, &setup->selection, ret_error);
        if (r == 0 && setup->selection.n_events == 0)
                r = setup_refuse_nothing(setup, config, ret_error);
        for (size_t i = 0; r == 0 && i < setup->selection.n_unknown; i++)
                probe_note(notes, "%s", setup->selection.unknown[i].why);
        return r;
}

/* Without these texts, events that only point to one show its address. */
static int setup_load_strings(FtraceSetup *setup) {
        char *text;

        if (trace_dir_read(setup->dir, "printk_formats", &text, NULL, NULL) != 0)
                return 0;
        return kernel_strings_new(&setup->strings, text);
}

static int setup_add_encoder(FtraceSetup *setup, const char *name, const EventFormat *format) {
        const DynamicEvent *dynamic = dynamic_events_find(setup->dynamic, name);
        EncoderOptions options = {
                .strings = setup->strings,
                .print_filter = setup->print_filter,
                .slice_name = dynamic ? dynamic->label : NULL,
                .slice_type = dynamic ? dynamic->slice_type : 0,
        };

        return event_set_add_with(
                &setup->encoders, format, setup->settings.compact_sched, &options);
}

static int
event_prepare(FtraceSetup *setup, const EventName *name, FtraceEvent *event, char **ret_error) {
        _cleanup_(event_format_freep) EventFormat *format = NULL;
        _cleanup_(freep) char *group = NULL, *text = NULL;
        char file[EVENT_PATH_BYTES];
        size_t n_text;
        int r;

        snprintf(file, sizeof(file), "events/%s/format", name->text);
        r = trace_dir_read(setup->dir, file, &text, &n_text, ret_error);
        if (r != 0)
                return r;
        group = strndup(name->text, name->n_group);
        if (!group)
                return -ENOMEM;
        r = event_format_parse_words(&format, group, text, n_text, setup->layout.commit_size);
        if (r == -EBADMSG)
                return probe_refuse(ret_error, "cannot understand the kernel's %s", file);
        if (r < 0)
                return r;
        event->id = format->id;
        return setup_add_encoder(setup, name->text, format);
}

/* Reports what the kernel refuses; the rest is recorded. */
static int setup_prepare_events(FtraceSetup *setup, ProbeNotes *notes) {
        setup->n_events = setup->selection.n_events;
        setup->events = calloc(MAX(setup->n_events, (size_t)1), sizeof(*setup->events));
        if (!setup->events)
                return -ENOMEM;
        for (size_t i = 0; i < setup->n_events; i++) {
                const EventName *name = &setup->selection.events[i];
                FtraceEvent *event = &setup->events[i];
                _cleanup_(freep) char *error = NULL;
                int r;

                *event = (FtraceEvent){ .name = name->text };
                r = event_prepare(setup, name, event, &error);
                if (r < 0)
                        return r;
                if (r == PROBE_E_REFUSED) {
                        probe_note(notes, "%s", error);
                        event->failed = true;
                }
        }
        return 0;
}

/* Without symbols the trace has addresses, and lacks nothing else. */
static int setup_load_symbols(FtraceSetup *setup, const FtraceConfig *config, ProbeNotes *notes) {
        _cleanup_(freep) char *restricted = NULL;
        int r;

        if (!config->symbolize_ksyms)
                return 0;
        r = kernel_symbols_load(&setup->symbols);
        if (r == -ENOMEM || r == 0)
                return r;
        (void)fd_read_file(&restricted, NULL, AT_FDCWD, "/proc/sys/kernel/kptr_restrict", 64);
        if (r == -ENODATA && restricted && restricted[0] == '2')
                probe_note(notes,
                           "no names of kernel functions: kernel.kptr_restrict is 2, which hides "
                           "them from everybody; lower it: sudo sysctl -w kernel.kptr_restrict=1");
        else if (r == -ENODATA)
                probe_note(notes,
                           "no names of kernel functions: the kernel hides them from who lacks "
                           "CAP_SYSLOG");
        else
                probe_note(notes,
                           "no names of kernel functions: cannot read /proc/kallsyms: %s",
                           strerror(-r));
        return 0;
}

/* Options of Perfetto's configs that we implement in another way. */
static void setup_note_options(const FtraceConfig *config, ProbeNotes *notes) {
        if (config->instance_name && *config->instance_name)
                probe_note(notes,
                           "instance_name has no effect: a recording has a tracefs instance of its "
                           "own; linux.frozen_ftrace reads what is in \"%.64s\"",
                           config->instance_name);
        if (config->preserve_ftrace_buffer)
                probe_note(notes,
                           "preserve_ftrace_buffer has no effect: a recording begins with an empty "
                           "ring; linux.frozen_ftrace reads one that was kept");
}

/* All settings of an instance on which recordings must agree, and all that changes how an event is written. */
static int setup_make_keys(FtraceSetup *setup) {
        _cleanup_(freep) char *prints = NULL, *state = NULL;

        state = instance_state_key(&setup->state);
        prints = setup->print_filter ? print_filter_key(setup->print_filter) : strdup("");
        if (!state || !prints)
                return -ENOMEM;
        /* When a definition is removed, the kernel empties all rings in which it was enabled. So recordings do not
         * share such rings. */
        if (asprintf(&setup->ring_key,
                     "%sprobes=%d",
                     state,
                     setup->dynamic ? (int)setup->dynamic->slot.number : -1) < 0) {
                setup->ring_key = NULL;
                return -ENOMEM;
        }
        if (asprintf(&setup->encoding_key,
                     "compact=%d symbols=%d prints=%s",
                     setup->settings.compact_sched,
                     setup->symbols != NULL,
                     prints) < 0) {
                setup->encoding_key = NULL;
                return -ENOMEM;
        }
        return 0;
}

static int
setup_prepare(FtraceSetup *setup, const FtraceConfig *config, ProbeNotes *notes, char **ret_error) {
        int r;

        r = setup_settings(setup, config, ret_error);
        if (r == 0) /* recording continues meanwhile */
                r = setup_load_symbols(setup, config, notes);
        if (r == 0)
                r = trace_dir_read_layout(setup->dir, &setup->layout, ret_error);
        if (r == 0)
                r = print_filter_new(&setup->print_filter, config, ret_error);
        if (r == 0)
                r = setup_select_events(setup, config, notes, ret_error);
        if (r == 0)
                r = ftrace_state_init(&setup->state, config, &setup->selection, notes, ret_error);
        if (r == 0)
                r = setup_load_strings(setup);
        if (r == 0)
                r = setup_prepare_events(setup, notes);
        if (r == 0)
                r = setup_make_keys(setup);
        if (r == 0)
                setup_note_options(config, notes);
        return r;
}

int ftrace_setup_new(FtraceSetup **ret,
                     const FtraceConfig *config,
                     ProbeNotes *notes,
                     char **ret_error) {
        _cleanup_(ftrace_setup_freep) FtraceSetup *setup = NULL;
        int r;

        if (config->n_ftrace_events == 0 && config->n_syscall_events == 0 &&
            config->n_kprobe_events == 0 && config->n_uprobe_events == 0 &&
            !config->enable_function_graph)
                return probe_refuse(ret_error,
                                    "ftrace_config has no ftrace_events, so there is "
                                    "nothing to record; add for example \"sched/sched_switch\"");
        setup = calloc(1, sizeof(*setup));
        if (!setup)
                return -ENOMEM;
        r = trace_dir_new(&setup->dir, ret_error);
        if (r == 0)
                r = setup_prepare(setup, config, notes, ret_error);
        if (r != 0)
                return r;
        *ret = TAKE(setup);
        return 0;
}

FtraceSetup *ftrace_setup_free(FtraceSetup *setup) {
        if (!setup)
                return NULL;
        kernel_symbols_free(setup->symbols);
        kernel_strings_free(setup->strings);
        event_set_deinit(&setup->encoders);
        event_selection_deinit(&setup->selection);
        trace_dir_free(setup->dir);
        instance_state_deinit(&setup->state);
        dynamic_events_free(setup->dynamic);
        print_filter_free(setup->print_filter);
        free(setup->ring_key);
        free(setup->encoding_key);
        free(setup->events);
        free(setup);
        return NULL;
}
