/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From bytes to what is kept of messages, and how it waits to be written. */

#include <errno.h>
#include <sys/un.h>

#include "bridges/dbus/bus-address.h"
#include "bridges/dbus/traffic-reader.h"
#include "dbus-message.h"
#include "test.h"

static uint64_t now_ns;

static uint64_t test_now(void) {
        return now_ns += 1000;
}

typedef struct Fixture {
        TrafficRing ring;
        TrafficReader reader;
} Fixture;

static void fixture_init(Fixture *fixture) {
        ck_assert_int_eq(traffic_ring_init(&fixture->ring), 0);
        ck_assert_int_eq(traffic_reader_init(&fixture->reader, &fixture->ring, test_now), 0);
}

static void fixture_deinit(Fixture *fixture) {
        traffic_reader_deinit(&fixture->reader);
        traffic_ring_deinit(&fixture->ring);
}

static int feed(Fixture *fixture, const void *data, size_t n) {
        size_t n_room;
        void *room = traffic_reader_room(&fixture->reader, &n_room);

        ck_assert_uint_ge(n_room, n);
        memcpy(room, data, n);
        return traffic_reader_take(&fixture->reader, n);
}

static const FrameFields call = {
        .type = FRAME_METHOD_CALL,
        .serial = 7,
        .path = "/p",
        .interface = "org.a.B",
        .member = "Ping",
        .destination = "x.y",
        .sender = ":1.2",
};

START_TEST(test_header_is_kept_whatever_pieces_it_comes_in) {
        Fixture fixture;
        DbusMessage message;
        Traffic traffic;

        dbus_message_make(&message, &call, (const char *const[]){ "a secret", NULL });
        for (size_t n = 1; n <= message.n; n++) {
                fixture_init(&fixture);
                for (size_t at = 0; at < message.n; at += n)
                        ck_assert_int_eq(feed(&fixture, message.data + at, MIN(n, message.n - at)),
                                         0);
                ck_assert(traffic_ring_look(&fixture.ring, &traffic));
                ck_assert_int_eq(traffic.kind, TRAFFIC_MESSAGE);
                ck_assert_uint_eq(traffic.n_bytes, message.n);
                ck_assert_uint_eq(traffic.fields.serial, 7);
                ck_assert_str_eq(traffic.fields.path, "/p");
                ck_assert_str_eq(traffic.fields.interface, "org.a.B");
                ck_assert_str_eq(traffic.fields.member, "Ping");
                ck_assert_str_eq(traffic.fields.destination, "x.y");
                ck_assert_str_eq(traffic.fields.sender, ":1.2");
                ck_assert(!traffic_ring_look(&fixture.ring, &traffic));
                fixture_deinit(&fixture);
        }
}
END_TEST

/* What is in the ring's memory is all that is kept. */
START_TEST(test_body_is_not_kept) {
        Fixture fixture;
        DbusMessage message;

        fixture_init(&fixture);
        memset(fixture.ring.memory, 0, TRAFFIC_RING_BYTES);
        dbus_message_make(&message, &call, (const char *const[]){ "a secret", NULL });
        ck_assert_int_eq(feed(&fixture, message.data, message.n), 0);
        ck_assert_ptr_null(memmem(fixture.ring.memory, TRAFFIC_RING_BYTES, "a secret", 8));
        ck_assert_ptr_nonnull(memmem(fixture.ring.memory, TRAFFIC_RING_BYTES, "Ping", 4));
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_long_body_is_passed_over) {
        uint8_t body[1000] = { 'l' }; /* looks like a message */
        DbusMessage message;
        Fixture fixture;
        Traffic traffic;

        fixture_init(&fixture);
        dbus_message_make(&message, &call, NULL);
        dbus_message_set_u32(&message, 4, 1000 * sizeof(body));
        ck_assert_int_eq(feed(&fixture, message.data, message.n), 0);
        for (int i = 0; i < 1000; i++)
                ck_assert_int_eq(feed(&fixture, body, sizeof(body)), 0);
        dbus_message_make(&message, &call, NULL);
        ck_assert_int_eq(feed(&fixture, message.data, message.n), 0);
        ck_assert(traffic_ring_look(&fixture.ring, &traffic));
        ck_assert_uint_eq(traffic.n_bytes, message.n + 1000 * sizeof(body));
        ck_assert(traffic_ring_look(&fixture.ring, &traffic));
        ck_assert_uint_eq(traffic.n_bytes, message.n);
        ck_assert(!traffic_ring_look(&fixture.ring, &traffic));
        ck_assert_uint_eq(fixture.ring.n_dropped, 0);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_header_that_is_too_long_or_nonsense_is_dropped_and_counted) {
        DbusMessage message;
        Fixture fixture;
        Traffic traffic;

        fixture_init(&fixture);
        dbus_message_make(&message, &call, NULL);
        message.data[17] = 200; /* the first field's signature */
        ck_assert_int_eq(feed(&fixture, message.data, message.n), 0);
        ck_assert_uint_eq(fixture.ring.n_dropped, 1);
        dbus_message_set_u32(&message, 12, TRAFFIC_HEADER_BYTES_MAX + 1);
        ck_assert_int_eq(feed(&fixture, message.data, message.n), 0);
        ck_assert_uint_eq(fixture.ring.n_dropped, 2);
        ck_assert(!traffic_ring_look(&fixture.ring, &traffic));
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_what_is_no_dbus_is_refused) {
        Fixture fixture;

        fixture_init(&fixture);
        ck_assert_int_eq(feed(&fixture, "HTTP/1.1 200 OK\r\n", 17), -EBADMSG);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_owner_of_a_name_is_read_from_the_bus_itself_only) {
        FrameFields changed = {
                .type = FRAME_SIGNAL,
                .path = "/org/freedesktop/DBus",
                .interface = "org.freedesktop.DBus",
                .member = "NameOwnerChanged",
                .sender = ":1.66",
        };
        const char *const names[] = { ":1.9", "", ":1.9", NULL };
        DbusMessage message;
        Fixture fixture;
        Traffic traffic;

        fixture_init(&fixture);
        dbus_message_make(&message, &changed, names);
        ck_assert_int_eq(feed(&fixture, message.data, message.n), 0);
        ck_assert(traffic_ring_look(&fixture.ring, &traffic));
        ck_assert_int_eq(traffic.kind, TRAFFIC_MESSAGE);
        ck_assert(!fixture.reader.has_newcomer);
        changed.sender = "org.freedesktop.DBus";
        dbus_message_make(&message, &changed, names);
        ck_assert_int_eq(feed(&fixture, message.data, message.n), 0);
        ck_assert(traffic_ring_look(&fixture.ring, &traffic));
        ck_assert_int_eq(traffic.kind, TRAFFIC_OWNER);
        ck_assert_str_eq(traffic.fields.path, ":1.9");
        ck_assert_str_eq(traffic.fields.sender, ":1.9");
        ck_assert(fixture.reader.has_newcomer);
        ck_assert(traffic_ring_look(&fixture.ring, &traffic));
        ck_assert_str_eq(traffic.fields.member, "NameOwnerChanged");
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_paths_of_secrets_are_not_kept) {
        static const char *const interfaces[] = { "org.freedesktop.Secret.Item",
                                                  "org.kde.KWallet" };
        FrameFields secret = call;
        DbusMessage message;
        Fixture fixture;
        Traffic traffic;

        fixture_init(&fixture);
        for (size_t i = 0; i < ARRAY_SIZE(interfaces); i++) {
                secret.interface = interfaces[i];
                dbus_message_make(&message, &secret, NULL);
                ck_assert_int_eq(feed(&fixture, message.data, message.n), 0);
                ck_assert(traffic_ring_look(&fixture.ring, &traffic));
                ck_assert_str_eq(traffic.fields.path, "");
                ck_assert_str_eq(traffic.fields.member, "Ping");
        }
        secret.interface = "org.freedesktop.DBus.Properties";
        secret.path = "/org/freedesktop/secrets/collection/login/my_bank";
        dbus_message_make(&message, &secret, NULL);
        ck_assert_int_eq(feed(&fixture, message.data, message.n), 0);
        ck_assert(traffic_ring_look(&fixture.ring, &traffic));
        ck_assert_str_eq(traffic.fields.path, "");
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_texts_are_plain_and_bounded) {
        char path[TRAFFIC_PATH_BYTES_MAX + 100];
        FrameFields long_path = call;
        DbusMessage message;
        Fixture fixture;
        Traffic traffic;

        memset(path, 'x', sizeof(path));
        path[0] = '/';
        path[1] = '\033';
        path[2] = '\xff';
        path[sizeof(path) - 1] = '\0';
        long_path.path = path;
        fixture_init(&fixture);
        dbus_message_make(&message, &long_path, NULL);
        ck_assert_int_eq(feed(&fixture, message.data, message.n), 0);
        ck_assert(traffic_ring_look(&fixture.ring, &traffic));
        ck_assert_uint_eq(strlen(traffic.fields.path), TRAFFIC_PATH_BYTES_MAX - 1);
        ck_assert(strncmp(traffic.fields.path, "/??xxx", 6) == 0);
        fixture_deinit(&fixture);
}
END_TEST

/* So often that an assertion for each would take long. */
static void feed_again(Fixture *fixture, const DbusMessage *message) {
        size_t n_room;

        memcpy(traffic_reader_room(&fixture->reader, &n_room), message->data, message->n);
        (void)traffic_reader_take(&fixture->reader, message->n);
}

/* The bus must not wait: what has no room is dropped, and there is room again when some is released. */
START_TEST(test_full_ring_drops_and_counts) {
        DbusMessage message;
        Fixture fixture;
        Traffic traffic;
        size_t n_put = 0, n_taken = 0, n_whole = 0;

        fixture_init(&fixture);
        dbus_message_make(&message, &call, NULL);
        for (; fixture.ring.n_dropped < 10; n_put++)
                feed_again(&fixture, &message);
        for (; traffic_ring_first(&fixture.ring, &traffic); n_taken++)
                traffic_ring_release(&fixture.ring);
        ck_assert_uint_eq(n_put, n_taken + 10);
        ck_assert_uint_gt(n_taken, 10000);
        /* Around its end, many times. */
        for (size_t i = 0; i < 100000; i++) {
                feed_again(&fixture, &message);
                n_whole += traffic_ring_look(&fixture.ring, &traffic) &&
                           traffic_ring_first(&fixture.ring, &traffic) &&
                           streq(traffic.fields.sender, ":1.2");
                traffic_ring_release(&fixture.ring);
                n_whole += traffic_ring_is_empty(&fixture.ring);
        }
        ck_assert_uint_eq(n_whole, 200000);
        ck_assert_uint_eq(fixture.ring.n_dropped, 10);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_addresses_of_sockets_are_found) {
        struct sockaddr_un address;
        socklen_t n;

        ck_assert_int_eq(bus_address_parse(&address, &n, "unix:path=/run/user/1/bus"), 0);
        ck_assert_str_eq(address.sun_path, "/run/user/1/bus");
        ck_assert_int_eq(bus_address_parse(&address, &n, "tcp:host=a;unix:guid=1,path=/a%20b"), 0);
        ck_assert_str_eq(address.sun_path, "/a b");
        ck_assert_int_eq(bus_address_parse(&address, &n, "unix:abstract=/tmp/x,guid=2"), 0);
        ck_assert_int_eq(address.sun_path[0], 0);
        ck_assert_uint_eq(n, offsetof(struct sockaddr_un, sun_path) + 7);
        ck_assert_int_eq(bus_address_parse(&address, &n, ""), -EADDRNOTAVAIL);
        ck_assert_int_eq(bus_address_parse(&address, &n, "unix:path=%"), -EADDRNOTAVAIL);
        ck_assert_int_eq(bus_address_parse(&address, &n, "unix:path=a%00b"), -EADDRNOTAVAIL);
        ck_assert_int_eq(bus_address_parse(&address, &n, "unixexec:path=/x"), -EADDRNOTAVAIL);
}
END_TEST

TEST_MAIN("bridges-dbus-traffic",
          test_header_is_kept_whatever_pieces_it_comes_in,
          test_body_is_not_kept,
          test_long_body_is_passed_over,
          test_header_that_is_too_long_or_nonsense_is_dropped_and_counted,
          test_what_is_no_dbus_is_refused,
          test_owner_of_a_name_is_read_from_the_bus_itself_only,
          test_paths_of_secrets_are_not_kept,
          test_texts_are_plain_and_bounded,
          test_full_ring_drops_and_counts,
          test_addresses_of_sockets_are_found)
