/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Settings: what a recording wants to know about a program's heap
 *
 * They come from perfetto.protos.DataSourceConfig, as the service passes it on. HeapprofdConfig has its own way to say
 * which processes are meant, since Perfetto's daemon is asked for all of them. Here each program is asked, and finds
 * out whether it is meant.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/profile.h"

#define SETTINGS_HEAP_NAME "libc.malloc" /* the heap that is meant if a config names none */
#define SETTINGS_HEAPS_MAX 16u           /* how many heaps a config may name */

/* Names of heaps. */
typedef struct HeapNames {
        char names[SETTINGS_HEAPS_MAX][PROFILE_HEAP_NAME_MAX + 1];
        unsigned n_names;
} HeapNames;

typedef struct HeapSettings {
        uint64_t interval;         /* bytes */
        uint32_t dump_interval_ms; /* 0: dump only on request and at the end */
        uint32_t dump_phase_ms;    /* until the first */
        bool at_peak;              /* only what was in use at the peak */
        bool is_meant;             /* this process is */
        bool wants_all_heaps;
        HeapNames heaps, excluded_heaps;
        bool no_startup;   /* only programs that already run when the recording starts */
        bool no_running;   /* only programs that start afterwards */
        bool wants_stream; /* a kind of heap dump that we do not offer */
} HeapSettings;

/* The process that reads the settings. */
typedef struct HeapProcess {
        int64_t pid;
        const char *name; /* argv[0] */
} HeapProcess;

enum {
        _SETTINGS_E_SUCCESS,
        SETTINGS_E_BAD,      /* no message */
        SETTINGS_E_INTERVAL, /* the interval is 0 bytes, or too large */
};

/* With `is_for_all`, the process is meant unless the config says otherwise. */
int heap_settings_parse(HeapSettings *ret,
                        const void *config,
                        size_t n_config,
                        const HeapProcess *process,
                        bool is_for_all);

bool heap_settings_want(const HeapSettings *settings, const char *heap);

/* Whether a name matches a pattern with at most one `*`. A pattern that begins with a slash is compared with the
 * whole name, any other with what follows the name's last slash. */
bool heap_settings_match(const char *name, const char *pattern, size_t n_pattern);
