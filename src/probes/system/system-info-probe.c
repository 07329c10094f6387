/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "probes/system/cpu-info.h"
#include "probes/system/system-info-probe.h"
#include "shared/fd.h"
#include "shared/log.h"

typedef struct SystemInfo {
        PacketWriter packets;
        int root;
        bool with_interrupts;
} SystemInfo;

static void *system_info_free(void *userdata) {
        SystemInfo *info = userdata;

        if (!info)
                return NULL;
        fd_close(info->root);
        packet_writer_deinit(&info->packets);
        free(info);
        return NULL;
}

static void system_info_freep(SystemInfo **info) {
        system_info_free(*info);
}

static int system_info_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        const Perfetto__Protos__SystemInfoConfig *config = setup->config->system_info_config;
        _cleanup_(system_info_freep) SystemInfo *info = calloc(1, sizeof(*info));

        if (!info)
                return -ENOMEM;
        packet_writer_init(&info->packets, setup->sink);
        info->with_interrupts = config && config->irq_names;
        info->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (info->root < 0)
                return -errno;
        if (faccessat(info->root, "sys/devices/system/cpu", R_OK | X_OK, AT_EACCESS) < 0)
                return probe_refuse(ret_error,
                                    "linux.system_info: cannot read /sys/devices/system/cpu: %s; "
                                    "is /sys mounted?",
                                    strerror(errno));
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

        write_packet(info, now_ns, PACKET_CPU_INFO, cpu_info_encode);
        if (info->with_interrupts)
                write_packet(info, now_ns, PACKET_INTERRUPT_INFO, interrupt_info_encode);
        return PROBE_NEVER;
}

const ProbeOps system_info_probe_ops = {
        .name = "linux.system_info",
        .packet_fields = (const uint32_t[]){ PACKET_CPU_INFO, PACKET_INTERRUPT_INFO, 0 },
        .records = "processors: names, frequencies, capacities; interrupt lines",
        .reads = "/proc/cpuinfo, /sys/devices/system/cpu, /sys/kernel/irq",
        .refuses = "/sys is not mounted: mount it",
        .setup = system_info_setup,
        .poll = system_info_poll,
        .free = system_info_free,
};
