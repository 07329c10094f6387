/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Setup does everything that the kernel can refuse (ftrace-setup.h, ring.h). Start only switches recording on, or joins
 * a ring that is already recording.
 */

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "probes/ftrace/event-list.h"
#include "probes/ftrace/ftrace-check.h"
#include "probes/ftrace/ftrace-probe.h"
#include "probes/ftrace/ring.h"

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
        Stream *stream;
        PacketWriter packets; /* of FtraceStats */
} FtraceProbe;

static void *ftrace_free(void *userdata) {
        FtraceProbe *probe = userdata;

        if (!probe)
                return NULL;
        stream_free(probe->stream);
        packet_writer_deinit(&probe->packets);
        free(probe);
        return NULL;
}

static void ftrace_freep(FtraceProbe **probe) {
        ftrace_free(*probe);
}

int ftrace_probe_new(void **ret,
                     const FtraceConfig *config,
                     const ProbeSetup *setup,
                     char **ret_error) {
        _cleanup_(ftrace_freep) FtraceProbe *probe = NULL;
        FtraceSetup *prepared;
        int r;

        probe = calloc(1, sizeof(*probe));
        if (!probe)
                return -ENOMEM;
        packet_writer_init(&probe->packets, setup->sink);
        r = ftrace_setup_new(&prepared, config, setup->notes, ret_error);
        if (r == 0)
                r = stream_new(&probe->stream,
                               prepared,
                               setup->link,
                               setup->sink,
                               setup->notes,
                               ret_error);
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
        const FtraceSetup *setup = probe->stream->setup;

        if (setup->symbols)
                wire_put_uint(wire, STATS_SYMBOLS_PARSED, kernel_symbols_count(setup->symbols));
        for (size_t i = 0; i < setup->selection.n_unknown; i++)
                wire_put_string(wire, STATS_UNKNOWN_EVENTS, setup->selection.unknown[i].name);
        for (size_t i = 0; i < setup->n_events; i++)
                if (setup->events[i].failed)
                        wire_put_string(wire, STATS_FAILED_EVENTS, setup->events[i].name);
        wire_put_uint(wire,
                      STATS_BUFFER_PAGES,
                      probe->stream->ring->buffer_kb * 1024 / (uint64_t)sysconf(_SC_PAGESIZE));
}

static void probe_write_stats(FtraceProbe *probe, bool of_start) {
        const FtraceSetup *setup = probe->stream->setup;
        WireWriter *wire = packet_begin(&probe->packets);
        size_t begin;

        wire_put_uint(wire, PACKET_TIMESTAMP, probe_now_ns());
        begin = wire_begin(wire, PACKET_FTRACE_STATS);
        wire_put_uint(wire, STATS_PHASE, of_start ? STATS_PHASE_START : STATS_PHASE_END);
        stream_encode_stats(probe->stream, wire, of_start);
        if (setup->dynamic)
                dynamic_events_encode_stats(setup->dynamic, setup->dir, wire, of_start);
        if (of_start)
                stats_encode_setup(probe, wire);
        for (unsigned status = FTRACE_STATUS_OK + 1; status < 32; status++)
                if (probe->stream->receiver.statuses & 1u << status)
                        wire_put_uint(wire, STATS_PARSE_ERRORS, status);
        wire_end(wire, begin);
        (void)packet_end(&probe->packets); /* the sink counts what it drops */
}

static int ftrace_start(void *userdata, char **ret_error) {
        FtraceProbe *probe = userdata;
        int r;

        r = stream_start(probe->stream, ret_error);
        if (r == 0)
                probe_write_stats(probe, true);
        return r;
}

static uint64_t ftrace_poll(void *userdata, uint64_t now_ns) {
        FtraceProbe *probe = userdata;

        return stream_poll(probe->stream, now_ns);
}

static int ftrace_fd(void *userdata) {
        FtraceProbe *probe = userdata;

        return stream_fd(probe->stream);
}

/* Writes both: a ring may have overwritten the packets of the start since they were written. */
static void probe_write_both_stats(FtraceProbe *probe) {
        probe_write_stats(probe, true);
        probe_write_stats(probe, false);
}

static void ftrace_flush(void *userdata, uint64_t now_ns) {
        FtraceProbe *probe = userdata;

        stream_drain(probe->stream, now_ns);
        probe_write_both_stats(probe);
}

static void ftrace_stop(void *userdata, uint64_t now_ns) {
        FtraceProbe *probe = userdata;

        stream_stop(probe->stream);
        probe_write_both_stats(probe);
}

const ProbeOps ftrace_probe_ops = {
        .name = "linux.ftrace",
        .packet_fields = (const uint32_t[]){ PACKET_FTRACE_EVENTS, PACKET_FTRACE_STATS, 0 },
        .records = "kernel events",
        .reads = "a tracefs instance of its own, kprobes and uprobes of its own, /proc/kallsyms, "
                 "files of programs with uprobes",
        .needs = "CAP_DAC_OVERRIDE, CAP_SYSLOG",
        .refuses = "tracefs is not mounted: mount it at /sys/kernel/tracing; the kernel is locked "
                   "down: /sys/kernel/security/lockdown says how far; none of the events exists: "
                   "the nearest names are told",
        .check = ftrace_check,
        .names = event_list_read,
        .setup = ftrace_setup,
        .start = ftrace_start,
        .poll = ftrace_poll,
        .fd = ftrace_fd,
        .flush = ftrace_flush,
        .stop = ftrace_stop,
        .free = ftrace_free,
};
