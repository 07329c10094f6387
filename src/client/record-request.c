/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Record request: what the user wants to record */

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "client/kernel-events.h"
#include "client/reason.h"
#include "client/record-request.h"
#include "client/say.h"
#include "client/standalone.h"
#include "client/time-option.h"
#include "config/config-merge.h"
#include "config/preset.h"
#include "shared/fd.h"
#include "shared/names.h"
#include "shared/text.h"

#define TRACK_EVENT_SOURCE TRACING_TRACK_EVENT_SOURCE
#define FTRACE_SOURCE      "linux.ftrace"
#define PERF_SOURCE        "linux.perf"

void record_request_init(RecordRequest *request) {
        *request = (RecordRequest){
                .events = g_ptr_array_new_with_free_func(g_free),
                .stack_events = g_ptr_array_new_with_free_func(g_free),
                .sources = g_ptr_array_new_with_free_func(g_free),
                .categories = g_ptr_array_new_with_free_func(g_free),
                .presets = g_ptr_array_new_with_free_func(g_free),
        };
        g_ptr_array_add(request->presets, NULL);
}

void record_request_deinit(RecordRequest *request) {
        request->config = config_free(request->config);
        g_clear_pointer(&request->events, g_ptr_array_unref);
        g_clear_pointer(&request->stack_events, g_ptr_array_unref);
        g_clear_pointer(&request->sources, g_ptr_array_unref);
        g_clear_pointer(&request->categories, g_ptr_array_unref);
        g_clear_pointer(&request->presets, g_ptr_array_unref);
}

/*
 * Configs
 */

static int read_file(char **ret, size_t *ret_n, const char *path) {
        if (streq(path, "-"))
                return fd_read_all(ret, ret_n, STDIN_FILENO, CONFIG_BYTES_MAX);
        return fd_read_file(ret, ret_n, AT_FDCWD, path, CONFIG_BYTES_MAX);
}

/* In the form of a compiler's messages, so that editors find the place. */
static ExitStatus say_config_error(const char *name, const ConfigError *error) {
        g_autofree char *translated = reason_translate(error->message);
        g_autofree char *message = say_clean(translated, strlen(translated));

        if (error->line)
                say_error("%s:%u:%u: %s", name, error->line, error->column, message);
        else
                say_error("%s: %s", name, message);
        return STATUS_USAGE;
}

ExitStatus record_request_load_file(RecordRequest *request, const char *path) {
        g_autofree char *name = g_filename_display_name(streq(path, "-") ? "stdin" : path);
        _cleanup_(freep) char *text = NULL;
        ConfigError error = { 0 };
        size_t n_text;
        int r;

        r = read_file(&text, &n_text, path);
        if (r == -EFBIG) {
                say_error(_("%s is too large for a config (at most %u bytes)"),
                          name,
                          CONFIG_BYTES_MAX);
                return STATUS_USAGE;
        }
        if (r < 0) {
                say_error(_("cannot read %s: %s"), name, g_strerror(-r));
                return STATUS_USAGE;
        }
        if (strlen(text) != n_text) {
                say_error(_("%s is not text: configs use protobuf's text format"), name);
                return STATUS_USAGE;
        }
        r = config_new_from_text(&request->config, text, &error);
        if (r < 0)
                return bus_client_say_errno(r);
        return r > 0 ? say_config_error(name, &error) : STATUS_OK;
}

/* Takes it over. */
static ExitStatus add_config(RecordRequest *request, Config *config) {
        int r = 0;

        if (!request->config) {
                request->config = config;
                return STATUS_OK;
        }
        r = config_merge(&request->config, config);
        config_free(config);
        return r < 0 ? bus_client_say_errno(r) : STATUS_OK;
}

/* Either the installation is broken, or the program was built but not installed. */
static void say_no_presets(void) {
        g_autofree char *hint = g_strdup_printf(
                _("There are no presets in %s (DESKTRACE_PRESET_PATH)."), presets_path());

        say_hint(hint);
}

static ExitStatus say_unknown_preset(const char *name) {
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        ExitStatus status;
        Preset *presets = NULL;
        size_t n = 0;

        /* When they cannot be listed, no other name is suggested. */
        (void)presets_list(&presets, &n);
        for (size_t i = 0; i < n; i++)
                g_ptr_array_add(names, presets[i].name);
        status = usage_unknown(
                _("unknown preset '%s'"), name, (const char *const *)names->pdata, names->len);
        if (n == 0)
                say_no_presets();
        presets_free(presets, n);
        return status;
}

static ExitStatus load_preset(RecordRequest *request, const char *name) {
        Config *config = NULL;
        ConfigError error = { 0 };
        int r;

        r = preset_load(&config, name, &error);
        if (r < 0) {
                say_error(_("cannot load the preset %s: %s"), name, g_strerror(-r));
                return STATUS_FAILED;
        }
        if (r == PRESET_E_UNKNOWN)
                return say_unknown_preset(name);
        return r > 0 ? say_config_error(name, &error) : add_config(request, config);
}

ExitStatus record_request_load_preset(RecordRequest *request, const char *names) {
        g_auto(GStrv) parts = g_strsplit(names, ",", -1);
        ExitStatus status = parts[0] ? STATUS_OK : load_preset(request, names);

        for (char **name = parts; !status && *name; name++)
                if (!g_strv_contains((const char *const *)request->presets->pdata, *name)) {
                        g_ptr_array_insert(
                                request->presets, (gint)request->presets->len - 1, g_strdup(*name));
                        status = load_preset(request, *name);
                }
        return status;
}

/*
 * Events
 */

/* Adds the event to `events`, unless this machine is known to lack it. */
static ExitStatus add_kernel_event(GPtrArray *events, const char *event) {
        _cleanup_(kernel_events_deinit) KernelEvents known = { 0 };
        const char *slash = strchr(event, '/');
        ExitStatus status;

        if (slash == event || !slash[1] || strchr(slash + 1, '/')) {
                say_error(_("'%s' is not a kernel event: write group/name or group/*"), event);
                return STATUS_USAGE;
        }
        kernel_events_read_local(&known);
        status = kernel_events_check(&known, event);
        if (!status)
                g_ptr_array_add(events, g_strdup(event));
        return status;
}

static bool is_preset(const char *name) {
        Preset *presets;
        size_t n = 0;
        bool found = false;

        if (presets_list(&presets, &n))
                return false;
        for (size_t i = 0; i < n; i++)
                found |= streq(presets[i].name, name);
        presets_free(presets, n);
        return found;
}

/* Data sources of the machine and of libdesktrace exist whether their producers run or not. */
static const char *const known_sources[] = {
        "linux.ftrace",
        "linux.process_stats",
        "linux.sys_stats",
        "linux.system_info",
        "linux.sysfs_power",
        "linux.systemd_journald",
        "linux.drm",
        "linux.cgroup",
        "linux.frozen_ftrace",
        "linux.input_latency",
        "linux.program_points",
        "linux.perf",
        "cpu.stacks",
        TRACING_HEAP_SOURCE,
        TRACING_PERFETTO_HEAP_SOURCE,
        "org.freedesktop.systemd",
        "org.freedesktop.dbus",
        "org.gnome.sysprof",
        "org.mozilla.firefox",
        "org.pipewire.profiler",
        "org.x.present",
        "org.freedesktop.login1",
        TRACK_EVENT_SOURCE,
};

/* Any name may be that of a program's data source. But a name that nearly equals one of the machine's is a slip, and
 * would silently record nothing. Names with the machine's prefix are left to the probes, which know all of theirs. */
static ExitStatus check_source(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(known_sources); i++) {
                const char *known = known_sources[i];

                if (streq(known, name))
                        return STATUS_OK;
                if (g_str_has_prefix(known, PROBE_PREFIX) &&
                    streq(known + strlen(PROBE_PREFIX), name))
                        return usage_meant(_("unknown data source '%s'"), name, known);
        }
        if (g_str_has_prefix(name, PROBE_PREFIX) ||
            !text_nearest(name, known_sources, ARRAY_SIZE(known_sources)))
                return STATUS_OK;
        return usage_unknown(
                _("unknown data source '%s'"), name, known_sources, ARRAY_SIZE(known_sources));
}

ExitStatus record_request_check_sources(const RecordRequest *request) {
        ExitStatus status = STATUS_OK;

        for (size_t i = 0; !status && request->config && i < request->config->pb->n_data_sources;
             i++) {
                const Perfetto__Protos__DataSourceConfig *source =
                        request->config->pb->data_sources[i]->config;

                if (source && source->name)
                        status = check_source(source->name);
        }
        return status;
}

static ExitStatus add_source(RecordRequest *request, const char *name) {
        _cleanup_(kernel_events_deinit) KernelEvents known = { 0 };
        ExitStatus status = check_source(name);

        kernel_events_read_local(&known);
        if (!status)
                status = kernel_events_check_word(&known, name);
        if (!status)
                g_ptr_array_add(request->sources, g_strdup(name));
        return status;
}

static ExitStatus add_category(RecordRequest *request, const char *category) {
        if (!*category) {
                say_error(_("'cat:' names no category: 'cat:*' records all of them"));
                return STATUS_USAGE;
        }
        g_ptr_array_add(request->categories, g_strdup(category));
        return STATUS_OK;
}

ExitStatus record_request_add_event(RecordRequest *request, const char *event) {
        if (!g_utf8_validate(event, -1, NULL) || !*event) {
                say_error(_("an event name must be non-empty UTF-8 text"));
                return STATUS_USAGE;
        }
        if (g_str_has_prefix(event, "cat:"))
                return add_category(request, event + strlen("cat:"));
        if (strchr(event, '/'))
                return add_kernel_event(request->events, event);
        if (strchr(event, ':')) { /* as perf and tracefs write kernel events */
                g_autofree char *slashed = g_strdelimit(g_strdup(event), ":", '/');

                say_error(_("'%s' is no event: did you mean the kernel's '%s' or the category "
                            "'cat:%s'?"),
                          event,
                          slashed,
                          strrchr(event, ':') + 1);
                return STATUS_USAGE;
        }
        if (is_preset(event)) {
                say_error(_("'%s' is a preset: use -p %s"), event, event);
                return STATUS_USAGE;
        }
        return add_source(request, event);
}

/*
 * Numbers
 */

ExitStatus record_request_set_duration(RecordRequest *request, const char *text) {
        uint32_t duration_ms = 0;
        ExitStatus status = time_option_parse(&duration_ms, text, 1, UINT32_MAX);

        request->duration_ms = duration_ms;
        return status;
}

ExitStatus record_request_set_buffer(RecordRequest *request, const char *text) {
        uint64_t n_bytes;

        int r = text_parse_size(&n_bytes, text);

        if (r == -ERANGE || (r == 0 && n_bytes / 1024 > UINT32_MAX)) {
                say_error(_("a buffer of %s exceeds the maximum: try 64M"), text);
                return STATUS_USAGE;
        }
        if (r < 0 || n_bytes < 4096) {
                say_error(_("'%s' is not a buffer size: try 64M"), text);
                return STATUS_USAGE;
        }
        request->buffer_kb = (uint32_t)(n_bytes / 1024);
        return STATUS_OK;
}

typedef Perfetto__Protos__TraceConfig__TriggerConfig TriggerConfig;

#define MODE(name) PERFETTO__PROTOS__TRACE_CONFIG__TRIGGER_CONFIG__TRIGGER_MODE__##name

static RecordTriggers config_triggers(const TriggerConfig *config) {
        switch (config->trigger_mode) {
        case MODE(START_TRACING):
                return RECORD_TRIGGERS_START;
        case MODE(STOP_TRACING):
                return config->use_clone_snapshot_if_available ? RECORD_TRIGGERS_CLONE
                                                               : RECORD_TRIGGERS_STOP;
        case MODE(CLONE_SNAPSHOT):
                return RECORD_TRIGGERS_CLONE;
        default:
                return RECORD_TRIGGERS_NONE;
        }
}

RecordTriggers record_request_triggers(const RecordRequest *request, const char **ret_name) {
        const TriggerConfig *config = request->config ? request->config->pb->trigger_config : NULL;

        *ret_name = NULL;
        if (request->triggers) {
                *ret_name = request->triggers[0];
                return RECORD_TRIGGERS_CLONE;
        }
        if (!config)
                return RECORD_TRIGGERS_NONE;
        if (config->n_triggers > 0)
                *ret_name = config->triggers[0]->name;
        return config_triggers(config);
}

uint32_t record_request_buffer_kb(const RecordRequest *request) {
        const Config *config = request->config;

        if (request->buffer_kb)
                return request->buffer_kb;
        return config && config->pb->n_buffers ? config->pb->buffers[0]->size_kb
                                               : BUFFER_KB_DEFAULT;
}

/*
 * The resulting config
 */

/* The n-th data source of that name in the config, or NULL. */
static const Perfetto__Protos__DataSourceConfig *
find_source(const Config *config, const char *name, size_t n) {
        for (size_t i = 0; config && i < config->pb->n_data_sources; i++) {
                const Perfetto__Protos__DataSourceConfig *source =
                        config->pb->data_sources[i]->config;

                if (source && source->name && streq(source->name, name) && n-- == 0)
                        return source;
        }
        return NULL;
}

GPtrArray *record_request_config_events(const RecordRequest *request) {
        GPtrArray *events = g_ptr_array_new();
        const Perfetto__Protos__DataSourceConfig *source;
        bool is_own = !request->presets->pdata[0];

        for (size_t n = 0; is_own && (source = find_source(request->config, FTRACE_SOURCE, n)); n++)
                for (size_t i = 0;
                     source->ftrace_config && i < source->ftrace_config->n_ftrace_events;
                     i++)
                        g_ptr_array_add(events, source->ftrace_config->ftrace_events[i]);
        return events;
}

static bool names_source(const RecordRequest *request, const char *name) {
        for (guint i = 0; i < request->sources->len; i++)
                if (streq(g_ptr_array_index(request->sources, i), name))
                        return true;
        return false;
}

bool record_request_wants_track_events(const RecordRequest *request) {
        return request->categories->len > 0 ||
               find_source(request->config, TRACK_EVENT_SOURCE, 0) ||
               names_source(request, TRACK_EVENT_SOURCE);
}

static bool wants_source(const RecordRequest *request, const char *name) {
        return find_source(request->config, name, 0) || names_source(request, name);
}

bool record_request_wants_stacks(const RecordRequest *request) {
        return wants_source(request, PERF_SOURCE) ||
               wants_source(request, TRACING_OWN_STACKS_SOURCE) ||
               wants_source(request, TRACING_HEAP_SOURCE) ||
               wants_source(request, TRACING_PERFETTO_HEAP_SOURCE);
}

/* A profile also needs the names of processes and threads. */
static const char stacks_config[] =
        "buffers { name: \"stacks\" size_kb: 65536 fill_policy: RING_BUFFER }\n"
        "buffers { name: \"names\" size_kb: 8192 fill_policy: RING_BUFFER }\n"
        "data_sources { config { name: \"" PERF_SOURCE
        "\" target_buffer_name: \"stacks\" perf_event_config {\n"
        "  timebase { frequency: %u counter: SW_CPU_CLOCK } callstack_sampling { kernel_frames: "
        "true } } } }\n"
        "data_sources { config { name: \"linux.process_stats\" target_buffer_name: \"names\" "
        "process_stats_config {\n"
        "  scan_all_processes_on_start: true record_thread_names: true proc_stats_poll_ms: 1000 } "
        "} }\n"
        "incremental_state_config { clear_period_ms: 5000 }\n";

/* The data source names its threads itself. */
static const char own_stacks_config[] =
        "buffers { name: \"stacks\" size_kb: 65536 fill_policy: RING_BUFFER }\n"
        "data_sources { config { name: \"" TRACING_OWN_STACKS_SOURCE
        "\" target_buffer_name: \"stacks\" perf_event_config {\n"
        "  timebase { frequency: %u counter: SW_CPU_CLOCK } callstack_sampling { } } } }\n"
        "incremental_state_config { clear_period_ms: 5000 }\n";

static ExitStatus parse_rate(unsigned *ret, const char *text) {
        guint64 rate = RECORD_STACKS_HZ;

        if (*text && !g_ascii_string_to_unsigned(text, 10, 1, RECORD_STACKS_HZ_MAX, &rate, NULL)) {
                say_error(
                        _("'%s' is not a number of samples a second from 1 to %u: try --stacks=%u"),
                        text,
                        RECORD_STACKS_HZ_MAX,
                        RECORD_STACKS_HZ);
                return STATUS_USAGE;
        }
        *ret = (unsigned)rate;
        return STATUS_OK;
}

static void remove_source(RecordRequest *request, const char *name) {
        for (guint i = request->sources->len; i > 0; i--)
                if (streq(g_ptr_array_index(request->sources, i - 1), name))
                        g_ptr_array_remove_index(request->sources, i - 1);
}

static ExitStatus add_config_text(RecordRequest *request, const char *option, const char *text) {
        ConfigError error = { 0 };
        Config *config = NULL;
        const int r = config_new_from_text(&config, text, &error);

        if (r != 0)
                return r < 0 ? bus_client_say_errno(r) : say_config_error(option, &error);
        return add_config(request, config);
}

ExitStatus record_request_add_stacks(RecordRequest *request, const char *rate, bool is_own) {
        const char *source = is_own ? TRACING_OWN_STACKS_SOURCE : PERF_SOURCE;
        g_autofree char *text = NULL;
        unsigned frequency;
        ExitStatus status = parse_rate(&frequency, rate);

        if (status)
                return status;
        if (find_source(request->config, source, 0)) {
                if (!*rate)
                        return STATUS_OK;
                say_error(_("the configuration has call stacks already, at a rate of its own: "
                            "leave out "
                            "--stacks=%s"),
                          rate);
                return STATUS_USAGE;
        }
        remove_source(request, source);
        text = is_own ? g_strdup_printf(own_stacks_config, frequency)
                      : g_strdup_printf(stacks_config, frequency);
        return add_config_text(request, "--stacks", text);
}

/* "%s": the data source, and what is sampled. */
static const char stacks_at_config[] =
        "buffers { name: \"stacks\" size_kb: 65536 fill_policy: RING_BUFFER }\n"
        "data_sources { config { name: \"%s\" target_buffer_name: \"stacks\" perf_event_config {\n"
        "  %s callstack_sampling { kernel_frames: true } } } }\n"
        "incremental_state_config { clear_period_ms: 5000 }\n";
static const char thread_names_config[] =
        "buffers { name: \"names\" size_kb: 8192 fill_policy: RING_BUFFER }\n"
        "data_sources { config { name: \"linux.process_stats\" target_buffer_name: \"names\" "
        "process_stats_config {\n"
        "  scan_all_processes_on_start: true record_thread_names: true } } }\n";

static ExitStatus say_no_event(const char *text) {
        say_error(_("'%s' is nothing that call stacks are recorded at: write \"sleep\", "
                    "\"page-fault\" or a kernel event as group/name; \":N\" behind it says of how "
                    "many one is taken, or of how many microseconds the shortest sleep is"),
                  text);
        return STATUS_USAGE;
}

/* The fields of PerfEventConfig. Returns NULL if it is no event. Names come from a person, and become part of a
 * text. */
static char *event_fields(const char *name, guint64 number) {
        const size_t n =
                strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-/");
        const char *slash = strchr(name, '/');

        if (streq(name, "sleep"))
                return g_strdup_printf("off_cpu { min_us: %u }",
                                       (unsigned)(number ? number : RECORD_SLEEP_US));
        if (streq(name, "page-fault"))
                return g_strdup_printf("stack_samples: true timebase { period: %u counter: "
                                       "SW_PAGE_FAULTS }",
                                       (unsigned)(number ? number : RECORD_FAULTS_PERIOD));
        if (name[n] || !slash || slash == name || !slash[1])
                return NULL;
        return g_strdup_printf("stack_samples: true timebase { period: %u tracepoint { name: "
                               "\"%s\" } }",
                               (unsigned)(number ? number : 1),
                               name);
}

ExitStatus record_request_add_stacks_at(RecordRequest *request, const char *event, bool is_own) {
        const char *colon = strrchr(event, ':');
        g_autofree char *name = colon ? g_strndup(event, (gsize)(colon - event)) : g_strdup(event);
        g_autofree char *fields = NULL, *text = NULL;
        guint64 number = 0;
        ExitStatus status = STATUS_OK;

        if (!colon || g_ascii_string_to_unsigned(colon + 1, 10, 1, UINT32_MAX, &number, NULL))
                fields = event_fields(name, number);
        if (!fields)
                return say_no_event(event);
        if (strchr(name, '/'))
                status = add_kernel_event(request->stack_events, name);
        if (status)
                return status;
        text = g_strdup_printf(
                stacks_at_config, is_own ? TRACING_OWN_STACKS_SOURCE : PERF_SOURCE, fields);
        status = add_config_text(request, "--stacks-at", text);
        return status || is_own ? status
                                : add_config_text(request, "--stacks-at", thread_names_config);
}

/* A recording that does not end well still has everything up to a second before its end. */
static const char heap_config[] =
        "buffers { name: \"heap\" size_kb: 65536 fill_policy: RING_BUFFER }\n"
        "data_sources { config { name: \"" TRACING_HEAP_SOURCE
        "\" target_buffer_name: \"heap\" heapprofd_config { all_heaps: true\n"
        "  sampling_interval_bytes: %" PRIu64
        " continuous_dump_config { dump_interval_ms: 1000 } } } }\n";

ExitStatus record_request_add_heap(RecordRequest *request, uint64_t interval) {
        g_autofree char *text = g_strdup_printf(heap_config, interval);
        ConfigError error = { 0 };
        Config *config = NULL;
        int r;

        if (find_source(request->config, TRACING_HEAP_SOURCE, 0)) {
                say_error(_("the configuration has %s already: leave out --heap"),
                          TRACING_HEAP_SOURCE);
                return STATUS_USAGE;
        }
        remove_source(request, TRACING_HEAP_SOURCE);
        r = config_new_from_text(&config, text, &error);
        if (r != 0)
                return r < 0 ? bus_client_say_errno(r) : say_config_error("--heap", &error);
        return add_config(request, config);
}

/* Returns false if the list cannot express one of the names. */
static bool add_startup_names(GString *text, const char *sign, char *const *names, size_t n_names) {
        for (size_t i = 0; i < n_names; i++) {
                if (!names[i][0] || strchr("-#", names[i][0]) || strchr(names[i], ','))
                        return false;
                g_string_append_printf(text, "%s%s%s", text->len > 0 ? "," : "", sign, names[i]);
        }
        return true;
}

static bool has_name(char *const *names, size_t n_names, const char *name) {
        for (size_t i = 0; i < n_names; i++)
                if (streq(names[i], name))
                        return true;
        return false;
}

static bool add_startup_config(GString *text, const Perfetto__Protos__TrackEventConfig *config) {
        if (!add_startup_names(
                    text, "", config->enabled_categories, config->n_enabled_categories) ||
            !add_startup_names(
                    text, "-", config->disabled_categories, config->n_disabled_categories) ||
            !add_startup_names(text, "#", config->enabled_tags, config->n_enabled_tags) ||
            !add_startup_names(text, "-#", config->disabled_tags, config->n_disabled_tags) ||
            has_name(config->disabled_tags, config->n_disabled_tags, "*"))
                return false;
        /* Everything that a config does not mention is on. */
        if (!has_name(config->disabled_categories, config->n_disabled_categories, "*"))
                g_string_append(text, text->len > 0 ? ",*" : "*");
        return true;
}

static bool add_startup_categories(GString *text, const RecordRequest *request) {
        const Perfetto__Protos__DataSourceConfig *source =
                find_source(request->config, TRACK_EVENT_SOURCE, 0);

        if (request->categories->len > 0)
                return !source && !names_source(request, TRACK_EVENT_SOURCE) &&
                       add_startup_names(text,
                                         "",
                                         (char **)request->categories->pdata,
                                         request->categories->len);
        if (source && (find_source(request->config, TRACK_EVENT_SOURCE, 1) ||
                       names_source(request, TRACK_EVENT_SOURCE)))
                return false;
        if (source && source->track_event_config)
                return add_startup_config(text, source->track_event_config);
        g_string_append(text, "*");
        return true;
}

char *record_request_startup_categories(const RecordRequest *request) {
        g_autoptr(GString) text = g_string_new(NULL);

        if (!record_request_wants_track_events(request))
                return NULL;
        if (!add_startup_categories(text, request))
                g_string_assign(text, "*,#*"); /* with all tags */
        return g_strdup(text->str);
}

typedef bool SourceFilter(const char *name);

static void add_source_if(GStrvBuilder *builder, const char *name, SourceFilter *is_wanted) {
        if (name && is_wanted(name))
                g_strv_builder_add(builder, name);
}

static void
add_wanted_sources(GStrvBuilder *builder, const RecordRequest *request, SourceFilter *is_wanted) {
        for (size_t i = 0; request->config && i < request->config->pb->n_data_sources; i++) {
                const Perfetto__Protos__DataSourceConfig *source =
                        request->config->pb->data_sources[i]->config;

                if (source)
                        add_source_if(builder, source->name, is_wanted);
        }
        for (guint i = 0; i < request->sources->len; i++)
                add_source_if(builder, g_ptr_array_index(request->sources, i), is_wanted);
}

char **record_request_probe_sources(const RecordRequest *request) {
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

        add_wanted_sources(builder, request, standalone_is_probe_source);
        if (request->events->len)
                g_strv_builder_add(builder, "linux.ftrace");
        return g_strv_builder_end(builder);
}

char **record_request_bridge_sources(const RecordRequest *request) {
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

        add_wanted_sources(builder, request, standalone_is_bridge_source);
        return g_strv_builder_end(builder);
}

char **record_request_known_probe_sources(void) {
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

        for (size_t i = 0; i < ARRAY_SIZE(known_sources); i++)
                add_source_if(builder, known_sources[i], standalone_is_probe_source);
        return g_strv_builder_end(builder);
}
