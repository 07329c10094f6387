/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The data source linux.system_info. */

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "host/denial.h"
#include "probes/system/cpu-info.h"
#include "probes/system/cpu-topology.h"
#include "probes/system/system-info-probe.h"
#include "shared/fd.h"
#include "shared/log.h"

typedef struct SystemInfo {
        PacketWriter packets;
        TrackWriter tracks;
        int root;
        bool with_interrupts;
} SystemInfo;

static void *system_info_free(void *userdata) {
        SystemInfo *info = userdata;

        if (!info)
                return NULL;
        fd_close(info->root);
        track_writer_deinit(&info->tracks);
        packet_writer_deinit(&info->packets);
        free(info);
        return NULL;
}

static void system_info_freep(SystemInfo **info) {
        system_info_free(*info);
}

int system_info_check_at(int root, char **ret_error) {
        char why[DENIAL_BYTES];
        int error;

        error = -denial_check(root, "sys/devices/system/cpu", R_OK | X_OK);
        if (error == 0)
                return 0;
        denial_explain(why, root, error, CAP_DAC_READ_SEARCH);
        if (error == ENOENT)
                return probe_refuse(ret_error,
                                    "there is no /sys/devices/system/cpu; is /sys mounted? mount "
                                    "it: mount -t sysfs sysfs /sys");
        return probe_refuse(
                ret_error, "cannot read /sys/devices/system/cpu: %s%s", strerror(error), why);
}

static int system_info_check(char **ret_error) {
        _cleanup_(fd_closep) int root = denial_open_root();

        return root < 0 ? root : system_info_check_at(root, ret_error);
}

static int system_info_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        const Perfetto__Protos__SystemInfoConfig *config = setup->config->system_info_config;
        _cleanup_(system_info_freep) SystemInfo *info = calloc(1, sizeof(*info));
        int r;

        if (!info)
                return -ENOMEM;
        packet_writer_init(&info->packets, setup->sink);
        track_writer_init(&info->tracks, &info->packets, "linux.system_info");
        info->with_interrupts = config && config->irq_names;
        info->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (info->root < 0)
                return -errno;
        r = system_info_check_at(info->root, ret_error);
        if (r != 0)
                return r;
        *ret = TAKE(info);
        return 0;
}

static void write_packet(SystemInfo *info,
                         uint64_t now_ns,
                         uint32_t field,
                         int (*encode)(int root, WireWriter *wire)) {
        WireWriter *wire = packet_begin(&info->packets);
        size_t begin;
        int n;

        wire_put_uint(wire, PACKET_TIMESTAMP, now_ns);
        begin = wire_begin(wire, field);
        n = encode(info->root, wire);
        wire_end(wire, begin);
        if (n > 0)
                (void)packet_end(&info->packets); /* the sink counts what it drops */
        else
                log_notice("linux.system_info: nothing to write in field %u: %s",
                           field,
                           n < 0 ? strerror(-n) : "there is none");
}

static uint64_t system_info_poll(void *userdata, uint64_t now_ns) {
        SystemInfo *info = userdata;
        int r;

        write_packet(info, now_ns, PACKET_CPU_INFO, cpu_info_encode);
        r = cpu_topology_write(info->root, &info->tracks, now_ns);
        if (r < 0)
                log_notice("linux.system_info: cannot read the topology of processors: %s",
                           strerror(-r));
        if (info->with_interrupts)
                write_packet(info, now_ns, PACKET_INTERRUPT_INFO, interrupt_info_encode);
        return PROBE_NEVER;
}

const ProbeOps system_info_probe_ops = {
        .name = "linux.system_info",
        .packet_fields = (const uint32_t[]){ PACKET_CPU_INFO,
                                             PACKET_INTERRUPT_INFO,
                                             PACKET_TRACK_EVENT,
                                             PACKET_TRACK_DESCRIPTOR,
                                             0 },
        .records = "processors: names, frequencies, capacities, topology, kinds, caches, drivers, "
                   "microcode; interrupt lines",
        .reads = "/proc/cpuinfo, /sys/devices/system/cpu, /sys/kernel/irq",
        .refuses = "/sys is not mounted: mount it",
        .check = system_info_check,
        .setup = system_info_setup,
        .poll = system_info_poll,
        .free = system_info_free,
};
