/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The kinds of counters that linux.sys_stats knows: which period switches each on, which files it reads, and how
 * their text is written
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/probe.h"
#include "host/track-writer.h"
#include "probes/proc/counters.h"
#include "probes/proc/stat.h"
#include "probes/proc/sys-files.h"

#define SYS_N_KINDS  14
#define SYS_CPUS_MAX 8192 /* CPU numbers from here on are not looked at */

/* A sample under way. */
typedef struct SysSample {
        WireWriter *wire;         /* inside of its SysStats */
        TrackWriter tracks;       /* what has no field there; through… */
        PacketWriter own_packets; /* … packets of their own, as has what is another message */
        uint64_t now_ns;
        Counters meminfo, vmstat;
        StatSettings stat;
        bool has_millidegrees; /* thermal zones are tracks */
        uint32_t n_cpus;       /* whose frequency is in the packet */
} SysSample;

typedef struct SysKind {
        const char *option;          /* its period in SysStatsConfig, … */
        size_t period;               /* … which is there */
        const char *const *patterns; /* of SysFiles */
        SysFileAccept *accept;       /* as there */
        bool are_values;             /* as there */
        bool is_usual;               /* also sampled when there is no config */
        const char *when_missing;    /* why that can be, and what to do */
        const char *
                when_second; /* what it means that only the second pattern's file is there; or NULL */
        /* Files that must not be read now: they would wake a device that sleeps. `encode` gets no text. */
        bool (*is_asleep)(const SysFile *file, int root);
        void (*encode)(SysSample *sample, SysFiles *files, size_t i, const char *text);
} SysKind;

extern const SysKind sys_kinds[SYS_N_KINDS];
