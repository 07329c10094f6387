/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Verbs to find tracks by their names from the top level on, and all their values, in a PacketList.
 */

#include <string.h>

#include "host/packet-list.h"

typedef struct TrackPoint {
        uint64_t now_ns;
        int64_t value;
} TrackPoint;

/* The number of the track of that name below `parent` (0: the top level); 0 when there is none. */
static inline uint64_t
track_child(const PacketList *list, uint64_t parent, const char *name, size_t n_name) {
        WireReader track;

        for (size_t i = 0; i < list->n; i++) {
                WireField field;

                if (!packet_list_payload(list, i, PACKET_TRACK_DESCRIPTOR, &track) ||
                    !message_field(track, 2, 0, &field) || field.n_bytes != n_name ||
                    memcmp(field.data, name, n_name) != 0 ||
                    (message_count(track, 5) ? message_uint(track, 5) : 0) != parent)
                        continue;
                return message_uint(track, 1);
        }
        return 0;
}

/* By the names from the top level on, with '/' between them. */
static inline uint64_t track_find(const PacketList *list, const char *path) {
        uint64_t track = 0;

        do {
                size_t n = strcspn(path, "/");

                track = track_child(list, track, path, n);
                path += n + (path[n] == '/');
        } while (track && *path);
        return track;
}

/* The values of a counter in the order in which they were written. Returns how many there are; up to `n_max` are
 * stored. */
static inline size_t
track_points(const PacketList *list, const char *path, TrackPoint *ret, size_t n_max) {
        uint64_t track = track_find(list, path);
        size_t n = 0;

        for (size_t i = 0; track && i < list->n; i++) {
                WireReader event, packet;

                if (!packet_list_payload(list, i, PACKET_TRACK_EVENT, &event) ||
                    message_uint(event, 11) != track)
                        continue;
                wire_reader_init(&packet, list->packets[i].data, list->packets[i].n);
                if (n < n_max)
                        ret[n] = (TrackPoint){ message_uint(packet, PACKET_TIMESTAMP),
                                               (int64_t)message_uint(event, 30) };
                n++;
        }
        return n;
}

/* As "TIME:VALUE TIME:VALUE …", in memory that the next call uses again. */
static inline const char *track_text(const PacketList *list, const char *path) {
        static char text[512];
        TrackPoint points[16];
        size_t n = track_points(list, path, points, 16), n_text = 0;

        text[0] = '\0';
        for (size_t i = 0; i < n && i < 16; i++)
                n_text += (size_t)snprintf(text + n_text,
                                           sizeof(text) - n_text,
                                           "%s%llu:%lld",
                                           i > 0 ? " " : "",
                                           (unsigned long long)points[i].now_ns,
                                           (long long)points[i].value);
        return text;
}
