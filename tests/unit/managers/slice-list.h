/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Verbs to look for slices in the packets of a list, by the names of their tracks.
 */

#include "host/packet-list.h"

#define SLICE_BEGIN   1
#define SLICE_END     2
#define SLICE_INSTANT 3

/* The uuid of the track; 0: there is none. */
static inline uint64_t slice_list_track(const PacketList *list, const char *name) {
        WireReader track;

        for (size_t i = 0; packet_list_find(list, PACKET_TRACK_DESCRIPTOR, i, &track); i++)
                if (message_has_text(track, 2, name))
                        return message_uint(track, 1);
        return 0;
}

/* The `skip`-th event on a track; false: there is none. */
static inline bool slice_list_event(const PacketList *list,
                                    const char *track,
                                    size_t skip,
                                    WireReader *ret_event,
                                    uint64_t *ret_ns) {
        uint64_t uuid = slice_list_track(list, track);

        for (size_t i = 0; uuid && i < list->n; i++) {
                WireReader packet;

                if (!packet_list_payload(list, i, PACKET_TRACK_EVENT, ret_event) ||
                    message_uint(*ret_event, 11) != uuid || skip-- > 0)
                        continue;
                wire_reader_init(&packet, list->packets[i].data, list->packets[i].n);
                *ret_ns = message_uint(packet, PACKET_TIMESTAMP);
                return true;
        }
        return false;
}

/* Whether the i-th event of a track is one that begins, or an instant, with that name and at that time in µs. */
static inline bool slice_list_is(const PacketList *list,
                                 const char *track,
                                 size_t i,
                                 uint64_t type,
                                 const char *name,
                                 uint64_t at_us) {
        WireReader event;
        uint64_t at_ns;

        return slice_list_event(list, track, i, &event, &at_ns) && at_ns == at_us * 1000 &&
               message_uint(event, 9) == type && (!name || message_has_text(event, 23, name));
}

static inline size_t slice_list_count(const PacketList *list, const char *track) {
        WireReader event;
        uint64_t at_ns;
        size_t n = 0;

        while (slice_list_event(list, track, n, &event, &at_ns))
                n++;
        return n;
}

/* Of two events of the list, by their packets. */
static inline bool
slice_list_is_after(const PacketList *list, WireReader later, WireReader earlier) {
        WireReader event;

        for (size_t i = 0; packet_list_find(list, PACKET_TRACK_EVENT, i, &event); i++)
                if (event.at == earlier.at || event.at == later.at)
                        return event.at == earlier.at;
        return false;
}

/* Whether an arrow leads from the i-th event of a track to the j-th of another, which is written later. */
static inline bool
slice_list_has_arrow(const PacketList *list, const char *from, size_t i, const char *to, size_t j) {
        WireReader begin, end;
        WireField out, in;
        uint64_t at_ns;

        if (!slice_list_event(list, from, i, &begin, &at_ns) ||
            !slice_list_event(list, to, j, &end, &at_ns) || !message_field(end, 48, 0, &in))
                return false;
        for (size_t k = 0; message_field(begin, 47, k, &out); k++)
                if (out.value == in.value)
                        return slice_list_is_after(list, end, begin);
        return false;
}
