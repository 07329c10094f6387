/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Setup does all that the kernel can refuse: it makes the instance, sizes its rings and enables the events, with
 * recording off. Start only switches recording on. Stop switches it off first, so that the final drain ends.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "probes/ftrace/event-select.h"
#include "probes/ftrace/ftrace-probe.h"
#include "probes/ftrace/ftrace-reader.h"
#include "probes/ftrace/ftrace-settings.h"
#include "probes/ftrace/syscall-names.h"
#include "shared/fd.h"
#include "shared/log.h"

#define EVENT_PATH_BYTES 256

enum {
        STATS_PHASE = 1,
        STATS_SYMBOLS_PARSED = 3,
        STATS_UNKNOWN_EVENTS = 6,
        STATS_FAILED_EVENTS = 7,
        STATS_PARSE_ERRORS = 9,
        STATS_BUFFER_PAGES = 11,
        STATS_PHASE_START = 1,
        STATS_PHASE_END = 2,
};

typedef struct FtraceProbe {
        FtraceSettings settings;
        Instance *instance;
        PageLayout layout;
        size_t n_page; /* bytes of a sub-buffer */
        EventSelection selection;
        bool *failed; /* of selection.events: part of a group, and the kernel refused it */
        EventSet events;
        PacketWriter packets;
        KernelSymbols *symbols; /* NULL: not wanted, or not to be had */
        BundleWriter bundles;
        FtraceReader reader;
        SessionLink *link;
        bool recording;
} FtraceProbe;

static void *ftrace_free(void *userdata) {
        FtraceProbe *probe = userdata;

        if (!probe)
                return NULL;
        ftrace_reader_deinit(&probe->reader);
        instance_free(probe->instance); /* after its descriptors */
        bundle_writer_deinit(&probe->bundles);
        packet_writer_deinit(&probe->packets);
        kernel_symbols_free(probe->symbols);
        event_set_deinit(&probe->events);
        event_selection_deinit(&probe->selection);
        session_link_unref(probe->link);
        free(probe->failed);
        free(probe);
        return NULL;
}

static void ftrace_freep(FtraceProbe **probe) {
        ftrace_free(*probe);
}

/* Larger sub-buffers than a page make a third of the system calls' cost; kernels before 6.8 do not have them, and
 * there may be no memory in such pieces. */
static void probe_size_pages(FtraceProbe *probe) {
        probe->n_page = (size_t)sysconf(_SC_PAGESIZE);
        if (instance_write_number(
                    probe->instance, "buffer_subbuf_size_kb", FTRACE_SUBBUFFER_KB, NULL) == 0)
                probe->n_page = MAX(probe->n_page, (size_t)FTRACE_SUBBUFFER_KB * 1024);
}

static int probe_size_buffers(FtraceProbe *probe, const FtraceConfig *config, char **ret_error) {
        struct sysinfo info;
        int r;

        if (sysinfo(&info) < 0)
                return -errno;
        r = ftrace_settings_init(&probe->settings,
                                 config,
                                 (uint64_t)info.totalram * info.mem_unit,
                                 (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
                                 ret_error);
        if (r != 0)
                return r;
        probe_size_pages(probe);
        return instance_write_number(
                probe->instance, "buffer_size_kb", probe->settings.buffer_kb, ret_error);
}

static int probe_read_layout(FtraceProbe *probe, char **ret_error) {
        _cleanup_(freep) char *text = NULL;
        int r;

        r = instance_read_top(probe->instance, "events/header_page", &text, NULL, ret_error);
        if (r != 0)
                return r;
        if (page_layout_parse(&probe->layout, text) < 0)
                return probe_refuse(ret_error,
                                    "cannot understand the layout of the kernel's rings "
                                    "(events/header_page)");
        return 0;
}

/* System calls by name: a filter in the kernel, and the two events that it filters. */
static int probe_filter_syscalls(FtraceProbe *probe, const FtraceConfig *config, char **ret_error) {
        static const char *const files[] = { "events/raw_syscalls/sys_enter/filter",
                                             "events/raw_syscalls/sys_exit/filter" };
        _cleanup_(freep) char *filter = NULL;
        int r;

        if (config->n_syscall_events == 0)
                return 0;
        r = syscall_filter_new(
                &filter, config->syscall_events, config->n_syscall_events, ret_error);
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(files); i++)
                r = instance_write(probe->instance, files[i], filter, ret_error);
        return r;
}

/* The config's events, and those that other options of it imply. */
static int probe_select_events(FtraceProbe *probe, const FtraceConfig *config, char **ret_error) {
        static char *const syscalls[] = { (char *)"raw_syscalls/sys_enter",
                                          (char *)"raw_syscalls/sys_exit" };
        _cleanup_(freep) char *available = NULL;
        _cleanup_(freep) char **patterns = NULL;
        size_t n = config->n_ftrace_events;
        int r;

        r = instance_read_top(probe->instance, "available_events", &available, NULL, ret_error);
        if (r != 0)
                return r;
        patterns = calloc(n + ARRAY_SIZE(syscalls), sizeof(*patterns));
        if (!patterns)
                return -ENOMEM;
        if (n > 0)
                memcpy(patterns, config->ftrace_events, n * sizeof(*patterns));
        if (config->n_syscall_events > 0)
                for (size_t i = 0; i < ARRAY_SIZE(syscalls); i++)
                        patterns[n++] = syscalls[i];
        r = event_select(&probe->selection, available, patterns, n, ret_error);
        if (r != 0)
                return r;
        probe->failed = calloc(MAX(probe->selection.n_events, (size_t)1), sizeof(*probe->failed));
        return probe->failed ? 0 : -ENOMEM;
}

static int event_enable(FtraceProbe *probe, const EventName *event, char **ret_error) {
        char file[EVENT_PATH_BYTES];

        /* Text of trace_marker: needs no switch, but since 6.16 an instance can have a copy of what programs write
         * to the one that they know. Older kernels give only what is written to the instance's own. */
        if (strncmp(event->text, "ftrace/", 7) == 0) {
                (void)instance_write(probe->instance, "options/copy_trace_marker", "1", NULL);
                return 0;
        }
        snprintf(file, sizeof(file), "events/%s/enable", event->text);
        return instance_write(probe->instance, file, "1", ret_error);
}

static int event_prepare(FtraceProbe *probe, const EventName *event, char **ret_error) {
        _cleanup_(event_format_freep) EventFormat *format = NULL;
        _cleanup_(freep) char *group = NULL, *text = NULL;
        char file[EVENT_PATH_BYTES];
        size_t n_text;
        int r;

        snprintf(file, sizeof(file), "events/%s/format", event->text);
        r = instance_read_top(probe->instance, file, &text, &n_text, ret_error);
        if (r != 0)
                return r;
        group = strndup(event->text, event->n_group);
        if (!group)
                return -ENOMEM;
        r = event_format_parse(&format, group, text, n_text);
        if (r == -EBADMSG)
                return probe_refuse(ret_error, "cannot understand the kernel's %s", file);
        if (r < 0)
                return r;
        return event_set_add(&probe->events, format, probe->settings.compact_sched);
}

/* Whether the config names the event itself, rather than its group. */
static bool is_named(const FtraceConfig *config, const EventName *event) {
        for (size_t i = 0; i < config->n_ftrace_events; i++)
                if (streq(config->ftrace_events[i], event->text) ||
                    streq(config->ftrace_events[i], event->text + event->n_group + 1))
                        return true;
        return false;
}

/* What the kernel refuses is an error when it was asked for by name; of a group, the rest is recorded. */
static int probe_enable_events(FtraceProbe *probe, const FtraceConfig *config, char **ret_error) {
        for (size_t i = 0; i < probe->selection.n_events; i++) {
                const EventName *event = &probe->selection.events[i];
                _cleanup_(freep) char *error = NULL;
                int r;

                r = event_prepare(probe, event, &error);
                if (r == 0)
                        r = event_enable(probe, event, &error);
                if (r < 0)
                        return r;
                if (r == PROBE_E_REFUSED && is_named(config, event)) {
                        *ret_error = TAKE(error);
                        return r;
                }
                if (r == PROBE_E_REFUSED) {
                        log_info("linux.ftrace: %s", error);
                        probe->failed[i] = true;
                }
        }
        return 0;
}

/* Without them there are addresses in the trace, and the rest of it is as good. */
static int probe_load_symbols(FtraceProbe *probe, const FtraceConfig *config) {
        char *text;
        int r;

        if (!config->symbolize_ksyms)
                return 0;
        r = fd_read_file(&text, NULL, AT_FDCWD, "/proc/kallsyms", KERNEL_SYMBOLS_BYTES_MAX);
        if (r == 0)
                r = kernel_symbols_new(&probe->symbols, text);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                log_notice("linux.ftrace: no kernel symbols (%s): they need CAP_SYSLOG, and "
                           "kernel.kptr_restrict below 2",
                           strerror(-r));
        return 0;
}

/* What configs of others may ask for and is not there. */
static void probe_note_options(const FtraceConfig *config) {
        if (config->drain_buffer_percent > 0)
                log_notice("linux.ftrace: drain_buffer_percent has no effect; rings are read every "
                           "drain_period_ms");
}

static int probe_configure(FtraceProbe *probe, const FtraceConfig *config, char **ret_error) {
        int r;

        r = instance_write(probe->instance, "trace_clock", "boot", ret_error);
        if (r == 0)
                r = probe_read_layout(probe, ret_error);
        if (r == 0)
                r = probe_select_events(probe, config, ret_error);
        if (r == 0)
                r = probe_size_buffers(probe, config, ret_error);
        if (r == 0)
                r = probe_filter_syscalls(probe, config, ret_error);
        if (r == 0)
                r = probe_enable_events(probe, config, ret_error);
        if (r == 0)
                r = probe_load_symbols(probe, config);
        probe_note_options(config);
        return r;
}

int ftrace_probe_new(void **ret,
                     const FtraceConfig *config,
                     const ProbeSetup *setup,
                     char **ret_error) {
        _cleanup_(ftrace_freep) FtraceProbe *probe = NULL;
        int r;

        if (config->n_ftrace_events == 0 && config->n_syscall_events == 0)
                return probe_refuse(ret_error,
                                    "linux.ftrace: ftrace_config has no ftrace_events, so there is "
                                    "nothing to record; add for example \"sched/sched_switch\"");
        probe = calloc(1, sizeof(*probe));
        if (!probe)
                return -ENOMEM;
        probe->link = session_link_ref(setup->link);
        packet_writer_init(&probe->packets, setup->sink);
        r = instance_new(&probe->instance, ret_error);
        if (r == 0)
                r = probe_configure(probe, config, ret_error);
        if (r == 0)
                r = bundle_writer_init(
                        &probe->bundles, &probe->packets, &probe->events, &probe->layout);
        if (r == 0)
                r = ftrace_reader_init(
                        &probe->reader, probe->instance, &probe->bundles, probe->n_page);
        if (r != 0)
                return r;
        probe->bundles.symbols = probe->symbols;
        *ret = TAKE(probe);
        return 0;
}

static int ftrace_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        static const FtraceConfig defaults = PERFETTO__PROTOS__FTRACE_CONFIG__INIT;

        return ftrace_probe_new(ret, setup->config->ftrace_config ?: &defaults, setup, ret_error);
}

static void stats_encode_setup(FtraceProbe *probe, WireWriter *wire) {
        if (probe->symbols)
                wire_put_uint(wire, STATS_SYMBOLS_PARSED, probe->symbols->n_symbols);
        for (size_t i = 0; i < probe->selection.n_unknown; i++)
                wire_put_string(wire, STATS_UNKNOWN_EVENTS, probe->selection.unknown[i]);
        for (size_t i = 0; i < probe->selection.n_events; i++)
                if (probe->failed[i])
                        wire_put_string(wire, STATS_FAILED_EVENTS, probe->selection.events[i].text);
        wire_put_uint(wire,
                      STATS_BUFFER_PAGES,
                      probe->settings.buffer_kb * 1024 / (uint64_t)sysconf(_SC_PAGESIZE));
}

static void probe_write_stats(FtraceProbe *probe, bool of_start) {
        WireWriter *wire = packet_begin(&probe->packets);
        size_t begin;

        wire_put_uint(wire, PACKET_TIMESTAMP, probe_now_ns());
        begin = wire_begin(wire, PACKET_FTRACE_STATS);
        wire_put_uint(wire, STATS_PHASE, of_start ? STATS_PHASE_START : STATS_PHASE_END);
        ftrace_reader_encode_stats(&probe->reader, wire, of_start);
        if (of_start)
                stats_encode_setup(probe, wire);
        for (unsigned status = FTRACE_STATUS_OK + 1; status < 32; status++)
                if (probe->bundles.statuses & 1u << status)
                        wire_put_uint(wire, STATS_PARSE_ERRORS, status);
        wire_end(wire, begin);
        (void)packet_end(&probe->packets); /* the sink counts what it drops */
}

static int ftrace_start(void *userdata, char **ret_error) {
        FtraceProbe *probe = userdata;
        int r;

        ftrace_reader_note_start(&probe->reader);
        probe_write_stats(probe, true);
        r = instance_write(probe->instance, "tracing_on", "1", ret_error);
        probe->recording = r == 0;
        return r;
}

static void probe_drain(FtraceProbe *probe, uint64_t until_ns) {
        probe->bundles.pids = session_link_pids(probe->link);
        ftrace_reader_drain(&probe->reader, until_ns);
        session_link_notify(probe->link);
}

static uint64_t ftrace_poll(void *userdata, uint64_t now_ns) {
        FtraceProbe *probe = userdata;

        if (!probe->recording)
                return PROBE_NEVER;
        probe_drain(probe, now_ns);
        return probe_next_on_grid(now_ns, probe->settings.drain_period_ns);
}

static void ftrace_flush(void *userdata, uint64_t now_ns) {
        FtraceProbe *probe = userdata;

        probe_drain(probe, now_ns);
        /* Both: a ring may have overwritten the start's since it was written. */
        probe_write_stats(probe, true);
        probe_write_stats(probe, false);
}

static void ftrace_stop(void *userdata, uint64_t now_ns) {
        FtraceProbe *probe = userdata;
        _cleanup_(freep) char *error = NULL;

        /* Should the kernel refuse even this, then the drain ends at now. */
        if (instance_write(probe->instance, "tracing_on", "0", &error) == 0)
                now_ns = UINT64_MAX;
        else
                log_warning("linux.ftrace: %s", error ?: "cannot stop recording");
        probe->recording = false;
        ftrace_flush(probe, now_ns);
}

const ProbeOps ftrace_probe_ops = {
        .name = "linux.ftrace",
        .packet_fields = (const uint32_t[]){ PACKET_FTRACE_EVENTS, PACKET_FTRACE_STATS, 0 },
        .records = "kernel events",
        .reads = "a tracefs instance of its own, /proc/kallsyms",
        .needs = "CAP_DAC_OVERRIDE, CAP_SYSLOG",
        .refuses = "tracefs is not mounted: mount it at /sys/kernel/tracing; the kernel is locked "
                   "down: /sys/kernel/security/lockdown says how far; no such event: the nearest "
                   "name is told",
        .setup = ftrace_setup,
        .start = ftrace_start,
        .poll = ftrace_poll,
        .flush = ftrace_flush,
        .stop = ftrace_stop,
        .free = ftrace_free,
};
