/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Settings: what a recording wants of a program's heap
 *
 * Out of perfetto.protos.DataSourceConfig, as the service passes it on. HeapprofdConfig has its own words for which
 * processes are meant, since Perfetto's daemon is asked for all of them; here each program is asked, and finds out
 * whether it is one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/profile.h"

#define SETTINGS_HEAP_NAME "libc.malloc" /* that is meant unless a config names others */
#define SETTINGS_HEAPS_MAX 16u           /* that a config names */

/* Names of heaps. */
typedef struct HeapNames {
        char names[SETTINGS_HEAPS_MAX][PROFILE_HEAP_NAME_MAX + 1];
        unsigned n_names;
} HeapNames;

typedef struct HeapSettings {
        uint64_t interval;         /* bytes */
        uint32_t dump_interval_ms; /* 0: only when it is asked for, and at the end */
        uint32_t dump_phase_ms;    /* until the first */
        bool at_peak;              /* only what was there at the peak */
        bool is_meant;             /* this process is */
        bool wants_all_heaps;
        HeapNames heaps, excluded_heaps;
        bool no_startup;   /* only what runs already when the recording starts */
        bool no_running;   /* only what starts afterwards */
        bool wants_stream; /* what is not offered */
} HeapSettings;

/* The process that reads it. */
typedef struct HeapProcess {
        int64_t pid;
        const char *name; /* argv[0] */
} HeapProcess;

enum {
        _SETTINGS_E_SUCCESS,
        SETTINGS_E_BAD,      /* no message */
        SETTINGS_E_INTERVAL, /* one of 0 bytes, or too large */
};

/* `is_for_all`: who is asked is meant unless the config says who is. */
int heap_settings_parse(HeapSettings *ret,
                        const void *config,
                        size_t n_config,
                        const HeapProcess *process,
                        bool is_for_all);

bool heap_settings_want(const HeapSettings *settings, const char *heap);

/* Whether a name is what a pattern with at most one `*` says. One that begins with a slash is held against all of the
 * name, any other against what follows its last slash. */
bool heap_settings_match(const char *name, const char *pattern, size_t n_pattern);
