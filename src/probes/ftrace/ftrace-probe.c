/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Setup does all that the kernel can refuse (ftrace-setup.h, ring.h), with recording off. Start only switches recording
 * on. Stop switches it off first, so that the final drain ends.
 */

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "probes/ftrace/ftrace-check.h"
#include "probes/ftrace/ftrace-probe.h"
#include "probes/ftrace/ftrace-reader.h"
#include "probes/ftrace/ftrace-setup.h"
#include "probes/ftrace/ring.h"
#include "shared/log.h"

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
        FtraceSetup *setup;
        Ring *ring;
        PacketWriter packets;
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
        ring_free(probe->ring); /* after its descriptors */
        bundle_writer_deinit(&probe->bundles);
        packet_writer_deinit(&probe->packets);
        ftrace_setup_free(probe->setup);
        session_link_unref(probe->link);
        free(probe);
        return NULL;
}

static void ftrace_freep(FtraceProbe **probe) {
        ftrace_free(*probe);
}

static int probe_open_reader(FtraceProbe *probe) {
        int r;

        r = bundle_writer_init(
                &probe->bundles, &probe->packets, &probe->setup->encoders, &probe->setup->layout);
        if (r < 0)
                return r;
        probe->bundles.symbols = probe->setup->symbols;
        return ftrace_reader_init(
                &probe->reader, probe->ring->instance, &probe->bundles, probe->ring->n_page);
}

int ftrace_probe_new(void **ret,
                     const FtraceConfig *config,
                     const ProbeSetup *setup,
                     char **ret_error) {
        _cleanup_(ftrace_freep) FtraceProbe *probe = NULL;
        int r;

        probe = calloc(1, sizeof(*probe));
        if (!probe)
                return -ENOMEM;
        probe->link = session_link_ref(setup->link);
        packet_writer_init(&probe->packets, setup->sink);
        r = ftrace_setup_new(&probe->setup, config, setup->notes, ret_error);
        if (r == 0)
                r = ring_new(&probe->ring, probe->setup, setup->notes, ret_error);
        if (r == 0)
                r = probe_open_reader(probe);
        if (r != 0)
                return r;
        *ret = TAKE(probe);
        return 0;
}

static int ftrace_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        static const FtraceConfig defaults = PERFETTO__PROTOS__FTRACE_CONFIG__INIT;

        return ftrace_probe_new(ret, setup->config->ftrace_config ?: &defaults, setup, ret_error);
}

static void stats_encode_setup(FtraceProbe *probe, WireWriter *wire) {
        const FtraceSetup *setup = probe->setup;

        if (setup->symbols)
                wire_put_uint(wire, STATS_SYMBOLS_PARSED, setup->symbols->n_symbols);
        for (size_t i = 0; i < setup->selection.n_unknown; i++)
                wire_put_string(wire, STATS_UNKNOWN_EVENTS, setup->selection.unknown[i].name);
        for (size_t i = 0; i < setup->n_events; i++)
                if (setup->events[i].failed)
                        wire_put_string(wire, STATS_FAILED_EVENTS, setup->events[i].name);
        wire_put_uint(wire,
                      STATS_BUFFER_PAGES,
                      setup->settings.buffer_kb * 1024 / (uint64_t)sysconf(_SC_PAGESIZE));
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
        r = instance_write(probe->ring->instance, "tracing_on", "1", ret_error);
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
        return probe_next_on_grid(now_ns, probe->setup->settings.drain_period_ns);
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
        if (instance_write(probe->ring->instance, "tracing_on", "0", &error) == 0)
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
                   "down: /sys/kernel/security/lockdown says how far; none of the events exists: "
                   "the nearest names are told",
        .check = ftrace_check,
        .setup = ftrace_setup,
        .start = ftrace_start,
        .poll = ftrace_poll,
        .flush = ftrace_flush,
        .stop = ftrace_stop,
        .free = ftrace_free,
};
