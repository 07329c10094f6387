/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Boot stages: firmware, loader, kernel, initrd and userspace, by the times that a manager keeps */

#include "managers/boot-stages.h"
#include "shared/macro.h"

#define NS_PER_US 1000u
#define STAGE_US_MAX \
        (UINT64_C(1) << 53) /* no machine is that old; more would not fit into nanoseconds */

const char *const boot_time_properties[_BOOT_TIME_N] = {
        [BOOT_FIRMWARE] = "FirmwareTimestampMonotonic",
        [BOOT_LOADER] = "LoaderTimestampMonotonic",
        [BOOT_KERNEL_REALTIME] = "KernelTimestamp",
        [BOOT_INITRD] = "InitRDTimestampMonotonic",
        [BOOT_INITRD_SECURITY_START] = "InitRDSecurityStartTimestampMonotonic",
        [BOOT_INITRD_SECURITY_FINISH] = "InitRDSecurityFinishTimestampMonotonic",
        [BOOT_INITRD_GENERATORS_START] = "InitRDGeneratorsStartTimestampMonotonic",
        [BOOT_INITRD_GENERATORS_FINISH] = "InitRDGeneratorsFinishTimestampMonotonic",
        [BOOT_INITRD_UNITS_START] = "InitRDUnitsLoadStartTimestampMonotonic",
        [BOOT_INITRD_UNITS_FINISH] = "InitRDUnitsLoadFinishTimestampMonotonic",
        [BOOT_USERSPACE] = "UserspaceTimestampMonotonic",
        [BOOT_SECURITY_START] = "SecurityStartTimestampMonotonic",
        [BOOT_SECURITY_FINISH] = "SecurityFinishTimestampMonotonic",
        [BOOT_GENERATORS_START] = "GeneratorsStartTimestampMonotonic",
        [BOOT_GENERATORS_FINISH] = "GeneratorsFinishTimestampMonotonic",
        [BOOT_UNITS_START] = "UnitsLoadStartTimestampMonotonic",
        [BOOT_UNITS_FINISH] = "UnitsLoadFinishTimestampMonotonic",
        [BOOT_FINISH] = "FinishTimestampMonotonic",
};

/* Parts of a stage, which lie within it. */
typedef struct Part {
        const char *name;
        BootTime begin, end;
} Part;

static const Part initrd_parts[] = {
        { "security module", BOOT_INITRD_SECURITY_START, BOOT_INITRD_SECURITY_FINISH },
        { "generators", BOOT_INITRD_GENERATORS_START, BOOT_INITRD_GENERATORS_FINISH },
        { "loading units", BOOT_INITRD_UNITS_START, BOOT_INITRD_UNITS_FINISH },
};

static const Part userspace_parts[] = {
        { "security module", BOOT_SECURITY_START, BOOT_SECURITY_FINISH },
        { "generators", BOOT_GENERATORS_START, BOOT_GENERATORS_FINISH },
        { "loading units", BOOT_UNITS_START, BOOT_UNITS_FINISH },
};

static void
stage(TrackWriter *tracks, uint64_t track, const char *name, uint64_t begin_us, uint64_t end_us) {
        if (end_us > begin_us && end_us < STAGE_US_MAX)
                track_slice(tracks, track, begin_us * NS_PER_US, end_us * NS_PER_US, name);
}

/* Both times are lengths before the kernel's start. */
static void write_before_kernel(TrackWriter *tracks, uint64_t group, const BootTimes *times) {
        uint64_t firmware_us = times->us[BOOT_FIRMWARE], loader_us = times->us[BOOT_LOADER];
        uint64_t track;

        if ((firmware_us == 0 && loader_us == 0) || MAX(firmware_us, loader_us) >= STAGE_US_MAX)
                return;
        track = track_group(tracks, group, "Before the kernel (drawn from its beginning)");
        firmware_us = MAX(firmware_us, loader_us) - loader_us;
        stage(tracks, track, "firmware", 0, firmware_us);
        stage(tracks, track, "loader", firmware_us, firmware_us + loader_us);
}

static void write_parts(TrackWriter *tracks,
                        uint64_t track,
                        const BootTimes *times,
                        const Part *parts,
                        size_t n_parts,
                        uint64_t begin_us,
                        uint64_t end_us) {
        for (size_t i = 0; i < n_parts; i++) {
                uint64_t from_us = times->us[parts[i].begin], until_us = times->us[parts[i].end];

                if (from_us >= begin_us && until_us <= end_us)
                        stage(tracks, track, parts[i].name, from_us, until_us);
                if (from_us >= begin_us && until_us <= end_us && until_us >= from_us)
                        begin_us = until_us;
        }
}

static void write_initrd(TrackWriter *tracks, uint64_t track, const BootTimes *times) {
        uint64_t begin_us = times->us[BOOT_INITRD], end_us = times->us[BOOT_USERSPACE];

        if (begin_us == 0 || end_us <= begin_us || end_us >= STAGE_US_MAX)
                return;
        track_begin(tracks, track, begin_us * NS_PER_US, "initrd");
        write_parts(tracks, track, times, initrd_parts, ARRAY_SIZE(initrd_parts), begin_us, end_us);
        track_end(tracks, track, end_us * NS_PER_US);
}

static void write_userspace(TrackWriter *tracks, uint64_t track, const BootTimes *times) {
        uint64_t begin_us = times->us[BOOT_USERSPACE], end_us = times->us[BOOT_FINISH];

        if (begin_us == 0 || begin_us >= STAGE_US_MAX)
                return;
        track_begin(tracks, track, begin_us * NS_PER_US, "userspace");
        write_parts(tracks,
                    track,
                    times,
                    userspace_parts,
                    ARRAY_SIZE(userspace_parts),
                    begin_us,
                    end_us ?: UINT64_MAX);
        if (end_us >= begin_us && end_us < STAGE_US_MAX)
                track_end(tracks, track, end_us * NS_PER_US);
}

void boot_stages_write(TrackWriter *tracks, uint64_t group, const BootTimes *times) {
        uint64_t track = track_group(tracks, group, "Boot");

        if (times->us[BOOT_KERNEL_REALTIME]) {
                write_before_kernel(tracks, group, times);
                stage(tracks,
                      track,
                      "kernel",
                      0,
                      times->us[BOOT_INITRD] ?: times->us[BOOT_USERSPACE]);
        }
        write_initrd(tracks, track, times);
        write_userspace(tracks, track, times);
}
