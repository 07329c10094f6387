/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Files of tests/fixtures (see the READMEs there). FIXTURES is its path.
 */

#include <fcntl.h>
#include <stdio.h>

#include "probes/ftrace/event-set.h"
#include "shared/fd.h"

#define FIXTURE_BYTES_MAX (1u << 20)

/* Not inlined: gcc 12 would take the text for the variable that it comes in. */
__attribute__((__noinline__, __unused__)) static char *fixture_read(const char *file,
                                                                    size_t *ret_n) {
        char path[4096], *text = NULL;

        snprintf(path, sizeof(path), "%s/%s", FIXTURES, file);
        ck_assert_msg(
                fd_read_file(&text, ret_n, AT_FDCWD, path, FIXTURE_BYTES_MAX) == 0, "%s", path);
        return text;
}

static inline EventFormat *fixture_format(const char *group, const char *name) {
        char file[256], *text;
        EventFormat *format;
        size_t n;

        snprintf(file, sizeof(file), "tracefs/events/%s/%s/format", group, name);
        text = fixture_read(file, &n);
        ck_assert_msg(event_format_parse(&format, group, text, n) == 0, "%s", file);
        free(text);
        return format;
}

static inline void
fixture_add_event(EventSet *set, const char *group, const char *name, bool compact) {
        EventFormat *format = fixture_format(group, name);

        ck_assert_int_eq(event_set_add(set, format, compact), 0);
        event_format_free(format);
}

/* A row of tracefs/NAME.txt. Returns the text behind it, or NULL at the end. */
typedef struct FixtureRow {
        unsigned long long time_us;
        char event[64];
        int pid;
} FixtureRow;

static inline const char *fixture_row(const char *at, FixtureRow *ret) {
        if (sscanf(at, "%llu %63s %d", &ret->time_us, ret->event, &ret->pid) != 3)
                return NULL;
        return strchr(at, '\n') + 1;
}
