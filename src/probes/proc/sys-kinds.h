/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The kinds of counters of linux.sys_stats: which period switches each on, which files it reads, and how their text is
 * written
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
#define SYS_CPUS_MAX 8192 /* CPUs from this number on are ignored */

/* The current sample. */
typedef struct SysSample {
        WireWriter *wire;         /* inside of its SysStats */
        TrackWriter tracks;       /* for what has no field there, by way of… */
        PacketWriter own_packets; /* … packets of their own, as has what is another message */
        uint64_t now_ns;
        Counters meminfo, vmstat;
        StatSettings stat;
        bool has_millidegrees; /* thermal zones are tracks */
        uint32_t n_cpus;       /* CPUs whose frequency is in the packet */
} SysSample;

typedef struct SysKind {
        const char *option;          /* its period in SysStatsConfig, … */
        size_t period;               /* … which is there */
        const char *const *patterns; /* of SysFiles */
        SysFileAccept *accept;       /* as there */
        bool are_values;             /* as there */
        bool is_usual;               /* also sampled when there is no config */
        const char *when_missing;    /* why there may be no files, and what to do */
        const char *when_second; /* what it means if only the second pattern has a file; or NULL */
        /* Says which files must not be read now, as that would wake a sleeping device. `encode` then gets no text. */
        bool (*is_asleep)(const SysFile *file, int root);
        void (*encode)(SysSample *sample, SysFiles *files, size_t i, const char *text);
} SysKind;

extern const SysKind sys_kinds[SYS_N_KINDS];
