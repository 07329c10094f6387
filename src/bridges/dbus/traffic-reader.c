/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Traffic reader: the bytes of a monitor's connection, as messages without bodies */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bridges/dbus/traffic-reader.h"
#include "shared/macro.h"

#define BUS_ITSELF "org.freedesktop.DBus"

/* Peers whose object paths contain the names of secrets. */
static const char *const secret_names[] = {
        "org.freedesktop.Secret", "org.freedesktop.secrets", "org.freedesktop.impl.portal.Secret",
        "org.gnome.keyring",      "org.kde.KWallet",         "org.kde.kwalletd",
};

int traffic_reader_init(TrafficReader *reader, TrafficRing *ring, uint64_t (*now_ns)(void)) {
        *reader = (TrafficReader){
                .ring = ring,
                .buffer = malloc(TRAFFIC_BUFFER_BYTES),
                .now_ns = now_ns,
        };
        return reader->buffer ? 0 : -ENOMEM;
}

void traffic_reader_deinit(TrafficReader *reader) {
        free(reader->buffer);
        *reader = (TrafficReader){};
}

static bool begins_with(const char *text, const char *prefix) {
        while (*prefix && *text == *prefix) {
                text++;
                prefix++;
        }
        return *prefix == '\0';
}

/* Asked for each message: most names differ from all of these by their fifth letter. */
static bool is_secret_name(const char *name) {
        if (!begins_with(name, "org.") || !strchr("fgk", name[4]))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(secret_names); i++)
                if (begins_with(name, secret_names[i]))
                        return true;
        return false;
}

static bool is_secret(const FrameFields *fields) {
        return is_secret_name(fields->interface) || is_secret_name(fields->destination) ||
               begins_with(fields->path, "/org/freedesktop/secrets");
}

/* Reads the new owner of a name; a new connection owns its own name. */
static void put_owner(TrafficReader *reader, const char *name, const char *owner, uint64_t at_ns) {
        const Traffic traffic = {
                .kind = TRAFFIC_OWNER,
                .at_ns = at_ns,
                .fields = {
                        .path = name,
                        .interface = "",
                        .member = "",
                        .error = "",
                        .destination = "",
                        .sender = owner,
                },
        };

        if (traffic_ring_put(reader->ring, &traffic) && name[0] == ':' && owner[0])
                reader->has_newcomer = true;
}

/* Takes a message of which `n` bytes have come, including all of its header. */
static void read_message(TrafficReader *reader, const Frame *frame, const uint8_t *data, size_t n) {
        Traffic traffic = { .at_ns = reader->now_ns(), .n_bytes = frame->n_bytes };
        const char *texts[3];

        if (frame_read_fields(&traffic.fields, data, n) < 0) {
                atomic_fetch_add_explicit(&reader->ring->n_dropped, 1, memory_order_relaxed);
                return;
        }
        if (streq(traffic.fields.sender, BUS_ITSELF) &&
            streq(traffic.fields.member, "NameOwnerChanged") &&
            frame_read_texts(texts, ARRAY_SIZE(texts), data, n) == 0)
                put_owner(reader, texts[0], texts[2], traffic.at_ns);
        if (is_secret(&traffic.fields))
                traffic.fields.path = "";
        (void)traffic_ring_put(reader->ring, &traffic);
}

/* The message that begins at `data`. Returns how many bytes are done with; 0: more are needed; -EBADMSG. */
static ssize_t take_message(TrafficReader *reader, const uint8_t *data, size_t n) {
        Frame frame;

        if (n < FRAME_HEAD_BYTES)
                return 0;
        if (frame_read(&frame, data) < 0)
                return -EBADMSG;
        if (frame.n_header_bytes > TRAFFIC_HEADER_BYTES_MAX)
                atomic_fetch_add_explicit(&reader->ring->n_dropped, 1, memory_order_relaxed);
        else if (n < MIN(frame.n_bytes, (uint64_t)TRAFFIC_HEADER_BYTES_MAX))
                return 0;
        else
                read_message(reader, &frame, data, n);
        atomic_fetch_add_explicit(&reader->n_messages, 1, memory_order_relaxed);
        n = (size_t)MIN(frame.n_bytes, (uint64_t)n);
        reader->n_skip = frame.n_bytes - n;
        return (ssize_t)n;
}

void *traffic_reader_room(TrafficReader *reader, size_t *ret_n) {
        *ret_n = TRAFFIC_BUFFER_BYTES - reader->n;
        return reader->buffer + reader->n;
}

int traffic_reader_take(TrafficReader *reader, size_t n) {
        size_t at = 0;
        ssize_t r = 1;

        reader->n += n;
        while (r > 0 && at < reader->n) {
                if (reader->n_skip > 0) {
                        const size_t n_skip =
                                (size_t)MIN(reader->n_skip, (uint64_t)(reader->n - at));

                        reader->n_skip -= n_skip;
                        at += n_skip;
                        continue;
                }
                r = take_message(reader, reader->buffer + at, reader->n - at);
                at += (size_t)MAX(r, 0);
        }
        reader->n -= at;
        memmove(reader->buffer, reader->buffer + at, reader->n);
        return r < 0 ? -EBADMSG : 0;
}
