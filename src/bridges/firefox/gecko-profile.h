/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Gecko profile: the markers of all threads of a browser, as its profiler writes them when it ends
 *
 * A profile has samples, libraries, pages and addresses, but only its markers are kept: their names, kinds,
 * beginnings and ends. Of a marker's other data, only the name that a page has given to its own marker
 * (performance.measure()) is kept. If a marker's name contains a page's address, only the host stays.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "shared/bytes.h"

#define GECKO_MARKERS_MAX    (1u << 18) /* markers of one thread; those beyond are counted */
#define GECKO_TEXTS_MAX      (1u << 18) /* likewise */
#define GECKO_TEXT_BYTES_MAX 128        /* a longer one is cut */
#define GECKO_CATEGORIES_MAX 64
#define GECKO_NAME_BYTES     64
#define GECKO_PROCESSES_MAX  512 /* of one profile */

typedef enum GeckoPhase {
        GECKO_INSTANT,
        GECKO_INTERVAL,
        GECKO_INTERVAL_START,
        GECKO_INTERVAL_END,
        _GECKO_PHASES,
} GeckoPhase;

typedef struct GeckoMarker {
        int64_t begin_ns, end_ns; /* by the profile's clock, CLOCK_MONOTONIC */
        uint32_t name;            /* of the thread's texts */
        uint32_t own; /* the name that a page gave to its own marker, or GECKO_NO_TEXT */
        uint8_t phase, category;
} GeckoMarker;

#define GECKO_NO_TEXT UINT32_MAX

typedef struct GeckoTexts {
        Bytes bytes;  /* each with its NUL */
        Bytes places; /* uint32_t: where each begins */
} GeckoTexts;

typedef struct GeckoThread {
        pid_t pid, tid;
        char name[GECKO_NAME_BYTES], process[GECKO_NAME_BYTES]; /* "": not given */
        GeckoMarker *markers;
        size_t n_markers, n_allocated;
        uint64_t n_lost; /* markers for which there was no room */
        GeckoTexts texts, own_texts;
        const char (*categories)[GECKO_NAME_BYTES];
        size_t n_categories;
} GeckoThread;

/* `time_of_day_ns` is how far the time of day is ahead of CLOCK_MONOTONIC, for profiles that have only the time of
 * day. */
typedef struct GeckoReading {
        FILE *file;
        int64_t time_of_day_ns;
        /* Once for each thread, whose fields are valid until it returns. */
        void (*thread)(void *userdata, const GeckoThread *thread);
        void *userdata;
} GeckoReading;

/* Reads until the end or the first mistake. Returns false if there was a mistake. */
bool gecko_profile_read(const GeckoReading *reading);

/* The name that viewers show: the page's own, or else the marker's. "" if there is none. */
const char *gecko_marker_name(const GeckoThread *thread, const GeckoMarker *marker);
const char *gecko_marker_category(const GeckoThread *thread, const GeckoMarker *marker);
