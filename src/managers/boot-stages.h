/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Boot stages: firmware, loader, kernel, initrd and userspace, by the times that a manager keeps
 *
 * The clock begins with the kernel. For the time before it only lengths are known. These are drawn from time 0 on a
 * track of their own, whose name says so.
 */

#include "host/track-writer.h"

/* Properties of org.freedesktop.systemd1.Manager. */
typedef enum BootTime {
        BOOT_FIRMWARE, /* before the kernel, likewise: */
        BOOT_LOADER,
        BOOT_KERNEL_REALTIME, /* 0: a container, or a user's manager */
        BOOT_INITRD,
        BOOT_INITRD_SECURITY_START,
        BOOT_INITRD_SECURITY_FINISH,
        BOOT_INITRD_GENERATORS_START,
        BOOT_INITRD_GENERATORS_FINISH,
        BOOT_INITRD_UNITS_START,
        BOOT_INITRD_UNITS_FINISH,
        BOOT_USERSPACE,
        BOOT_SECURITY_START,
        BOOT_SECURITY_FINISH,
        BOOT_GENERATORS_START,
        BOOT_GENERATORS_FINISH,
        BOOT_UNITS_START,
        BOOT_UNITS_FINISH,
        BOOT_FINISH, /* 0: not yet */
        _BOOT_TIME_N,
} BootTime;

extern const char *const boot_time_properties[_BOOT_TIME_N];

typedef struct BootTimes {
        uint64_t us[_BOOT_TIME_N];
} BootTimes;

/* Writes the stages below `group`; the writer's clock has to be CLOCK_MONOTONIC. */
void boot_stages_write(TrackWriter *tracks, uint64_t group, const BootTimes *times);
