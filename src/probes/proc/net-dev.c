/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Encodes /proc/net/dev, and the tracks of its interfaces. */

#include <stdio.h>
#include <string.h>

#include "probes/proc/line.h"
#include "probes/proc/net-dev.h"
#include "shared/macro.h"

#define INTERFACE_BYTES   32 /* IFNAMSIZ is 16 */
#define NET_DEV_N_COLUMNS 16

static const struct {
        uint32_t column;
        const char *name;
        TrackUnit unit;
        bool is_trouble; /* as long as it is 0, it gets no row */
} net_columns[] = {
        { 0, "received bytes", TRACK_UNIT_BYTES, false },
        { 1, "received packets", TRACK_UNIT_COUNT, false },
        { 2, "receive errors", TRACK_UNIT_COUNT, true },
        { 3, "received packets dropped", TRACK_UNIT_COUNT, true },
        { 8, "sent bytes", TRACK_UNIT_BYTES, false },
        { 9, "sent packets", TRACK_UNIT_COUNT, false },
        { 10, "send errors", TRACK_UNIT_COUNT, true },
        { 11, "sent packets dropped", TRACK_UNIT_COUNT, true },
};

/* "  eth0: 1 2 …": false for the two lines of headings. */
static bool parse_interface(const char *line,
                            char name[static INTERFACE_BYTES],
                            uint64_t values[static NET_DEV_N_COLUMNS]) {
        const char *at = line + strspn(line, " ");
        size_t n_name = strcspn(at, ":\n");

        if (at[n_name] != ':' || n_name == 0)
                return false;
        snprintf(name, INTERFACE_BYTES, "%.*s", (int)MIN(n_name, (size_t)INTERFACE_BYTES), at);
        line_clean(name);
        at += n_name + 1;
        for (size_t i = 0; i < NET_DEV_N_COLUMNS; i++)
                if (!line_number(&at, &values[i]))
                        return false;
        return true;
}

static void write_interface(const char *interface,
                            const uint64_t values[static NET_DEV_N_COLUMNS],
                            TrackWriter *tracks,
                            uint64_t now_ns) {
        uint64_t group = track_group(tracks, 0, "Network");

        for (size_t i = 0; i < ARRAY_SIZE(net_columns); i++) {
                uint64_t value = values[net_columns[i].column];
                char name[INTERFACE_BYTES + 32];

                if (value == 0 && net_columns[i].is_trouble)
                        continue;
                snprintf(name, sizeof(name), "%s %s", interface, net_columns[i].name);
                track_count(tracks,
                            track_counter(tracks, group, name, net_columns[i].unit),
                            now_ns,
                            (int64_t)value);
        }
}

static bool was_used(const uint64_t values[static NET_DEV_N_COLUMNS]) {
        for (size_t i = 0; i < ARRAY_SIZE(net_columns); i++)
                if (values[net_columns[i].column] > 0)
                        return true;
        return false;
}

void net_dev_write_tracks(const char *text, TrackWriter *tracks, uint64_t now_ns) {
        for (size_t n = 0; *text && n < NET_DEV_INTERFACES_MAX; n++, text = line_next(text)) {
                uint64_t values[NET_DEV_N_COLUMNS];
                char name[INTERFACE_BYTES];

                if (parse_interface(text, name, values) && was_used(values))
                        write_interface(name, values, tracks, now_ns);
        }
}
