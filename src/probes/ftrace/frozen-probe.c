/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * All events of the running kernel are prepared, because nobody knows which of them were enabled before. Readers drop
 * events that are older than the session unless the stats say that a ring was preserved, so the stats come first.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "probes/ftrace/cpu-stats.h"
#include "probes/ftrace/frozen-probe.h"
#include "probes/ftrace/ftrace-check.h"
#include "probes/ftrace/ftrace-reader.h"
#include "probes/ftrace/ftrace-setup.h"
#include "shared/fd.h"
#include "shared/log.h"
#include "shared/text.h"

#define COMMAND_LINE "reserve_mem=20M:4096:trace trace_instance=boot_mapped^traceoff@trace"

enum {
        STATS_PHASE = 1,
        STATS_PRESERVED = 8,
        STATS_PARSE_ERRORS = 9,
        PHASE_START = 1,
        PHASE_END = 2,
};

typedef Perfetto__Protos__FrozenFtraceConfig FrozenConfig;

typedef struct FrozenProbe {
        FtraceSetup *setup;
        Instance *instance;
        PacketWriter packets;
        FtraceReader reader;
        BundleWriter writer;
        BundleReceiver receiver;
        bool is_read;
} FrozenProbe;

static void *frozen_free(void *userdata) {
        FrozenProbe *probe = userdata;

        if (!probe)
                return NULL;
        ftrace_reader_deinit(&probe->reader);
        bundle_writer_deinit(&probe->writer);
        bundle_receiver_deinit(&probe->receiver);
        packet_writer_deinit(&probe->packets);
        instance_free(probe->instance);
        ftrace_setup_free(probe->setup);
        free(probe);
        return NULL;
}

static void frozen_freep(FrozenProbe **probe) {
        frozen_free(*probe);
}

/* An instance does not change, and has an end, only if it has stopped recording. */
static int check_is_off(FrozenProbe *probe, const char *name, char **ret_error) {
        _cleanup_(freep) char *on = NULL;
        int r;

        r = instance_read(probe->instance, "tracing_on", &on, NULL, ret_error);
        if (r != 0 || on[0] == '0')
                return r;
        return probe_refuse(
                ret_error,
                "the tracefs instance \"%s\" records at this moment; write 0 to %s/tracing_on "
                "first",
                name,
                probe->instance->path);
}

/* Other clocks start over with each boot, too, but the trace does not use them. */
static void note_clock(FrozenProbe *probe, ProbeNotes *notes) {
        _cleanup_(freep) char *clocks = NULL;

        if (instance_read(probe->instance, "trace_clock", &clocks, NULL, NULL) == 0 &&
            !strstr(clocks, "[boot]"))
                probe_note(notes,
                           "the ring was recorded with another clock than \"boot\", so its times "
                           "are not those of the rest of the trace; add trace_clock=boot to the "
                           "kernel's command line");
}

static size_t page_bytes(FrozenProbe *probe) {
        size_t n = (size_t)sysconf(_SC_PAGESIZE);
        _cleanup_(freep) char *text = NULL;
        uint64_t kb;

        if (instance_read(probe->instance, "buffer_subbuf_size_kb", &text, NULL, NULL) != 0)
                return n;
        text[strcspn(text, "\n")] = '\0';
        return text_parse_uint(&kb, text, 1u << 20) == 0 ? MAX(n, (size_t)kb * 1024) : n;
}

static int frozen_open_reader(FrozenProbe *probe, PacketSink *sink) {
        IdSet all;
        int r;

        memset(&all, 0xff, sizeof(all));
        r = ftrace_reader_init(&probe->reader, probe->instance, page_bytes(probe));
        if (r == 0)
                r = bundle_receiver_init(&probe->receiver, sink, probe->reader.n_cpus);
        if (r == 0)
                r = bundle_writer_init(&probe->writer, &probe->setup->layout);
        if (r == 0)
                r = bundle_writer_use(&probe->writer, &probe->setup->encoders, &all, NULL);
        if (r < 0)
                return r;
        list_append(&probe->reader.writers, &probe->writer.writers);
        bundle_writer_add(&probe->writer, &probe->receiver);
        return 0;
}

static int
frozen_new(FrozenProbe *probe, const char *name, const ProbeSetup *setup, char **ret_error) {
        static char *everything[] = { (char *)EVENT_ALL };
        FtraceConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__INIT;
        int r;

        config.ftrace_events = everything;
        config.n_ftrace_events = 1;
        r = ftrace_setup_new(&probe->setup, &config, setup->notes, ret_error);
        if (r == 0)
                r = instance_open(&probe->instance, probe->setup->dir, name, ret_error);
        if (r == 0)
                r = check_is_off(probe, name, ret_error);
        if (r != 0)
                return r;
        note_clock(probe, setup->notes);
        return frozen_open_reader(probe, setup->sink);
}

static int frozen_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        const FrozenConfig *config = setup->config->frozen_ftrace_config;
        _cleanup_(frozen_freep) FrozenProbe *probe = NULL;
        int r;

        if (!config || !config->instance_name || !*config->instance_name)
                return probe_refuse(ret_error,
                                    "frozen_ftrace_config needs an "
                                    "instance_name, for example \"boot_mapped\"");
        probe = calloc(1, sizeof(*probe));
        if (!probe)
                return -ENOMEM;
        list_init(&probe->writer.writers);
        list_init(&probe->receiver.receivers);
        packet_writer_init(&probe->packets, setup->sink);
        r = frozen_new(probe, config->instance_name, setup, ret_error);
        if (r == 0)
                *ret = TAKE(probe);
        return r;
}

static void frozen_write_stats(FrozenProbe *probe, bool of_start) {
        WireWriter *wire = packet_begin(&probe->packets);
        size_t begin;

        wire_put_uint(wire, PACKET_TIMESTAMP, probe_now_ns());
        begin = wire_begin(wire, PACKET_FTRACE_STATS);
        wire_put_uint(wire, STATS_PHASE, of_start ? PHASE_START : PHASE_END);
        for (size_t i = 0; i < probe->reader.n_cpus; i++) {
                uint32_t cpu = probe->reader.cpus[i].bundle.cpu;
                _cleanup_(freep) char *text = NULL;
                CpuStats stats = { .cpu = cpu };
                char file[64];

                snprintf(file, sizeof(file), "per_cpu/cpu%u/stats", cpu);
                if (instance_read(probe->instance, file, &text, NULL, NULL) == 0)
                        cpu_stats_parse(&stats, cpu, text);
                cpu_stats_encode(&stats, wire);
        }
        wire_put_bool(wire, STATS_PRESERVED, true);
        for (unsigned status = FTRACE_STATUS_OK + 1; status < 32; status++)
                if (probe->receiver.statuses & 1u << status)
                        wire_put_uint(wire, STATS_PARSE_ERRORS, status);
        wire_end(wire, begin);
        (void)packet_end(&probe->packets); /* the sink counts what it drops */
}

static uint64_t frozen_poll(void *userdata, uint64_t now_ns) {
        _cleanup_(freep) char *why = NULL;
        FrozenProbe *probe = userdata;

        if (probe->is_read)
                return PROBE_NEVER;
        probe->is_read = true;
        frozen_write_stats(probe, true);
        if (check_is_off(probe, strrchr(probe->instance->path, '/') + 1, &why) == 0)
                ftrace_reader_drain(&probe->reader, UINT64_MAX);
        else /* since the setup */
                log_warning("linux.frozen_ftrace: %s", why ?: "out of memory");
        frozen_write_stats(probe, false);
        return PROBE_NEVER;
}

/* Instances that outlive a boot have a file about the previous one: last_boot_info, or last_text_delta before 6.15. */
static bool outlives_boot(int instances_fd, const char *name) {
        static const char *const files[] = { "last_boot_info", "last_text_delta" };
        char file[512];

        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                if (snprintf(file, sizeof(file), "%s/%s", name, files[i]) >= (int)sizeof(file))
                        return false;
                if (faccessat(instances_fd, file, F_OK, 0) == 0)
                        return true;
        }
        return false;
}

int frozen_check_at(int tracing_fd, char **ret_error) {
        int fd = openat(tracing_fd, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        bool found = false;

        if (!dir) {
                fd_close(fd);
                return probe_refuse(
                        ret_error, "cannot look for tracefs instances: %s", strerror(errno));
        }
        for (struct dirent *entry = readdir(dir); entry && !found; entry = readdir(dir))
                found = entry->d_name[0] != '.' && outlives_boot(dirfd(dir), entry->d_name);
        closedir(dir);
        if (found)
                return 0;
        return probe_refuse(ret_error,
                            "no tracefs instance outlives a boot here; add to the kernel's command "
                            "line (Linux 6.12 and newer): %s",
                            COMMAND_LINE);
}

static int frozen_check(char **ret_error) {
        _cleanup_(trace_dir_freep) TraceDir *dir = NULL;
        int r;

        r = ftrace_check(ret_error);
        if (r == 0)
                r = trace_dir_new(&dir, ret_error);
        return r != 0 ? r : frozen_check_at(dir->fd, ret_error);
}

const ProbeOps frozen_probe_ops = {
        .name = "linux.frozen_ftrace",
        .packet_fields = (const uint32_t[]){ PACKET_FTRACE_EVENTS, PACKET_FTRACE_STATS, 0 },
        .records = "kernel events that were recorded before the last reboot",
        .reads = "the tracefs instance that the config names",
        .needs = "CAP_DAC_OVERRIDE",
        .refuses = "there is no such instance: add to the kernel's command line " COMMAND_LINE
                   "; it records: write 0 to its tracing_on",
        .check = frozen_check,
        .setup = frozen_setup,
        .poll = frozen_poll,
        .free = frozen_free,
};
