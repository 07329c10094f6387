/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Verbs to look for tracks, and the values of counters, in the packets of a list.
 */

#include "host/packet-list.h"

/* The descriptor of a track; false when no track has that name. */
static inline bool track_list_find(const PacketList *list, const char *name, WireReader *ret) {
        for (size_t i = 0; packet_list_find(list, PACKET_TRACK_DESCRIPTOR, i, ret); i++)
                if (message_has_text(*ret, 2, name))
                        return true;
        return false;
}

static inline bool track_list_is_in(const PacketList *list, const char *name, const char *group) {
        WireReader track, parent;

        return track_list_find(list, name, &track) && track_list_find(list, group, &parent) &&
               message_uint(track, 5) == message_uint(parent, 1);
}

/* The i-th value of a counter. */
static inline bool
track_list_value(const PacketList *list, const char *name, size_t skip, int64_t *ret) {
        WireReader track, event;

        if (!track_list_find(list, name, &track))
                return false;
        for (size_t i = 0; packet_list_find(list, PACKET_TRACK_EVENT, i, &event); i++)
                if (message_uint(event, 11) == message_uint(track, 1) && skip-- == 0) {
                        *ret = (int64_t)message_uint(event, 30);
                        return true;
                }
        return false;
}

/* How many values a counter has. */
static inline size_t track_list_count(const PacketList *list, const char *name) {
        int64_t value;
        size_t n = 0;

        while (track_list_value(list, name, n, &value))
                n++;
        return n;
}

/* The first value of a counter; INT64_MIN without any. */
static inline int64_t track_list_first(const PacketList *list, const char *name) {
        int64_t value;

        return track_list_value(list, name, 0, &value) ? value : INT64_MIN;
}
