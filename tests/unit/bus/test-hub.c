/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <sys/socket.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

#include "bus/link/hub.h"
#include "shared/macro.h"
#include "test.h"

#define PEERS_MAX   200
#define TURNS_MAX   1000
#define LARGE_BYTES (4u << 20) /* more than fits into a socket */
#define USER        1000
#define OTHER_USER  1001

/* A connection: our end in the hub, and the peer's. */
typedef struct Peer {
        HubLink link;
        sd_bus *server, *client;
        unsigned n_calls, n_replies, n_errors;
        size_t n_reply_bytes;
        bool is_broken;
} Peer;

static struct {
        sd_event *event;
        Hub hub;
        Peer peers[PEERS_MAX];
        size_t n;
        size_t reply_bytes;
} world;

static void on_broken(HubLink *link) {
        container_of(link, Peer, link)->is_broken = true;
}

/* The service's end: answers each call with a number of bytes, but calls of "Later" never, and of "Slow" slowly. */
static int on_call(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Peer *peer = userdata;
        void *data;

        if (sd_bus_message_is_method_call(message, NULL, NULL) <= 0)
                return 0;
        peer->n_calls++;
        if (streq(sd_bus_message_get_member(message), "Later"))
                return 1;
        if (streq(sd_bus_message_get_member(message), "Slow"))
                usleep(HUB_TURN_NS / 1000);
        ck_assert_int_ge(sd_bus_message_new_method_return(message, &reply), 0);
        ck_assert_int_ge(sd_bus_message_append_array_space(reply, 'y', world.reply_bytes, &data),
                         0);
        memset(data, 1, world.reply_bytes);
        ck_assert_int_ge(sd_bus_send(NULL, reply, NULL), 0);
        return 1;
}

static int on_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Peer *peer = userdata;
        const void *data;

        if (sd_bus_message_is_method_error(reply, NULL))
                peer->n_errors++;
        else {
                peer->n_replies++;
                ck_assert_int_ge(sd_bus_message_read_array(reply, 'y', &data, &peer->n_reply_bytes),
                                 0);
        }
        return 1;
}

static void add_peer_of(uid_t user) {
        Peer *peer = &world.peers[world.n++];
        sd_id128_t id;
        int fds[2];

        *peer = (Peer){ .link.broke = on_broken };
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds),
                         0);
        ck_assert_int_ge(sd_id128_randomize(&id), 0);
        ck_assert_int_ge(sd_bus_new(&peer->server), 0);
        ck_assert_int_ge(sd_bus_set_fd(peer->server, fds[0], fds[0]), 0);
        ck_assert_int_ge(sd_bus_set_server(peer->server, true, id), 0);
        ck_assert_int_ge(sd_bus_start(peer->server), 0);
        ck_assert_int_ge(sd_bus_add_filter(peer->server, NULL, on_call, peer), 0);
        ck_assert_int_ge(sd_bus_new(&peer->client), 0);
        ck_assert_int_ge(sd_bus_set_fd(peer->client, fds[1], fds[1]), 0);
        ck_assert_int_ge(sd_bus_start(peer->client), 0);
        ck_assert_int_eq(hub_add(&world.hub, &peer->link, peer->server, user), 0);
}

static void add_peer(void) {
        add_peer_of(USER);
}

static void make_world(size_t n_peers) {
        memset(&world, 0, sizeof(world));
        world.reply_bytes = 10;
        ck_assert_int_ge(sd_event_new(&world.event), 0);
        ck_assert_int_ge(hub_init(&world.hub, world.event), 0);
        for (size_t i = 0; i < n_peers; i++)
                add_peer();
}

static void end_world(void) {
        for (size_t i = 0; i < world.n; i++) {
                hub_remove(&world.peers[i].link);
                sd_bus_close_unref(world.peers[i].server);
                sd_bus_close_unref(world.peers[i].client);
        }
        hub_deinit(&world.hub);
        sd_event_unref(world.event);
}

static void peer_call(Peer *peer, sd_bus *from, const char *member, uint64_t timeout_usec) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;

        ck_assert_int_ge(
                sd_bus_message_new_method_call(from, &call, NULL, "/test", "org.test", member), 0);
        ck_assert_int_ge(sd_bus_call_async(from, NULL, call, on_reply, peer, timeout_usec), 0);
}

static void peers_run(void) {
        for (size_t i = 0; i < world.n; i++)
                while (sd_bus_process(world.peers[i].client, NULL) > 0)
                        ;
}

/* As the daemon's loop does it. Returns whether there was anything. */
static bool turn(void) {
        int r = sd_event_run(world.event, 0);

        ck_assert_int_ge(r, 0);
        hub_begin_round(&world.hub);
        hub_settle(&world.hub);
        return r > 0;
}

static unsigned count_replies(void) {
        unsigned n = 0;

        for (size_t i = 0; i < world.n; i++)
                n += world.peers[i].n_replies;
        return n;
}

static unsigned count_calls(void) {
        unsigned n = 0;

        for (size_t i = 0; i < world.n; i++)
                n += world.peers[i].n_calls;
        return n;
}

/* Turns until everybody has `n` replies; the peers run between them. */
static void await_replies(unsigned n) {
        for (unsigned i = 0; i < TURNS_MAX && count_replies() < n; i++) {
                turn();
                peers_run();
        }
        ck_assert_uint_eq(count_replies(), n);
}

START_TEST(test_call_right_behind_authentication_is_answered) {
        make_world(1);
        peer_call(&world.peers[0], world.peers[0].client, "Hello", 0);
        await_replies(1);
        end_world();
}
END_TEST

START_TEST(test_many_peers_take_few_turns) {
        unsigned n_turns = 0;

        make_world(PEERS_MAX);
        for (size_t i = 0; i < world.n; i++)
                peer_call(&world.peers[i], world.peers[i].client, "Hello", 0);
        await_replies(PEERS_MAX);
        for (size_t i = 0; i < world.n; i++)
                peer_call(&world.peers[i], world.peers[i].client, "Hello", 0);
        while (turn())
                n_turns++;
        peers_run();
        ck_assert_uint_eq(count_replies(), 2 * PEERS_MAX);
        ck_assert_uint_le(n_turns, 2 * (PEERS_MAX / HUB_LINKS_PER_TURN + 1));
        end_world();
}
END_TEST

START_TEST(test_one_peer_does_not_keep_others_from_their_turn) {
        Peer *peer;

        make_world(2);
        peer_call(&world.peers[0], world.peers[0].client, "Hello", 0);
        peer_call(&world.peers[1], world.peers[1].client, "Hello", 0);
        await_replies(2);
        peer = &world.peers[0];
        peer->n_calls = 0;
        for (unsigned i = 0; i < 10 * HUB_MESSAGES_PER_TURN; i++)
                peer_call(peer, peer->client, "Hello", 0);
        turn();
        ck_assert_uint_le(peer->n_calls, 2 * HUB_MESSAGES_PER_TURN);
        ck_assert_uint_eq(hub_deadline(&world.hub, 5), 0); /* there is more */
        await_replies(2 + 10 * HUB_MESSAGES_PER_TURN);
        end_world();
}
END_TEST

/* Each call takes all of a turn's time, so that a turn is one call. */
START_TEST(test_user_with_many_connections_does_not_keep_another_waiting) {
        const size_t n_busy = 50;
        unsigned n_turns = 0;
        Peer *other;

        make_world(n_busy);
        add_peer_of(OTHER_USER);
        other = &world.peers[n_busy];
        for (size_t i = 0; i < world.n; i++)
                peer_call(&world.peers[i], world.peers[i].client, "Hello", 0);
        await_replies((unsigned)world.n);
        for (size_t i = 0; i < n_busy; i++)
                for (unsigned j = 0; j < 3; j++)
                        peer_call(&world.peers[i], world.peers[i].client, "Slow", 0);
        turn();
        peer_call(other, other->client, "Hello", 0);
        for (; n_turns < TURNS_MAX && other->n_replies < 2; n_turns++) {
                turn();
                peers_run();
        }
        ck_assert_uint_le(n_turns, 5);
        end_world();
}
END_TEST

/* However often they are looked at in it: everything else waits meanwhile. */
START_TEST(test_links_have_their_time_once_in_a_round) {
        const size_t n_busy = 3;
        unsigned n_calls;

        make_world(n_busy);
        for (size_t i = 0; i < n_busy; i++)
                peer_call(&world.peers[i], world.peers[i].client, "Hello", 0);
        await_replies((unsigned)n_busy);
        for (size_t i = 0; i < n_busy; i++)
                peer_call(&world.peers[i], world.peers[i].client, "Slow", 0);
        turn();
        n_calls = count_calls();
        ck_assert_uint_lt(n_calls, 2 * n_busy);
        hub_settle(&world.hub);
        ck_assert_uint_eq(count_calls(), n_calls);
        ck_assert_uint_eq(hub_deadline(&world.hub, 5), 0); /* there is more */
        hub_begin_round(&world.hub);
        hub_settle(&world.hub);
        ck_assert_uint_gt(count_calls(), n_calls);
        end_world();
}
END_TEST

START_TEST(test_what_does_not_fit_into_the_socket_is_sent_when_there_is_room) {
        Peer *peer;

        make_world(1);
        peer = &world.peers[0];
        world.reply_bytes = LARGE_BYTES;
        peer_call(peer, peer->client, "Hello", 0);
        await_replies(1);
        ck_assert_uint_eq(peer->n_reply_bytes, LARGE_BYTES);
        end_world();
}
END_TEST

START_TEST(test_call_that_is_never_answered_fails_in_time) {
        Peer *peer;

        make_world(1);
        peer = &world.peers[0];
        peer_call(peer, peer->client, "Hello", 0);
        await_replies(1);
        ck_assert_uint_eq(hub_deadline(&world.hub, 5), UINT64_MAX);

        peer_call(peer, peer->server, "Silence", 1000);
        hub_touch(&peer->link);
        turn();
        ck_assert_uint_ne(hub_deadline(&world.hub, 5), UINT64_MAX);
        for (unsigned i = 0; i < TURNS_MAX && peer->n_errors == 0; i++) {
                usleep(1000);
                turn();
                hub_tick(&world.hub);
                hub_begin_round(&world.hub);
                hub_settle(&world.hub);
        }
        ck_assert_uint_eq(peer->n_errors, 1);
        end_world();
}
END_TEST

START_TEST(test_peer_that_leaves_is_noticed) {
        Peer *peer;

        make_world(2);
        peer = &world.peers[0];
        peer_call(peer, peer->client, "Hello", 0);
        await_replies(1);
        peer->client = sd_bus_close_unref(peer->client);
        ck_assert_int_ge(sd_bus_new(&peer->client), 0);
        for (unsigned i = 0; i < TURNS_MAX && !peer->is_broken; i++)
                turn();
        ck_assert(peer->is_broken);
        ck_assert(!world.peers[1].is_broken);
        end_world();
}
END_TEST

TEST_MAIN("hub",
          test_call_right_behind_authentication_is_answered,
          test_many_peers_take_few_turns,
          test_one_peer_does_not_keep_others_from_their_turn,
          test_user_with_many_connections_does_not_keep_another_waiting,
          test_links_have_their_time_once_in_a_round,
          test_what_does_not_fit_into_the_socket_is_sent_when_there_is_room,
          test_call_that_is_never_answered_fails_in_time,
          test_peer_that_leaves_is_noticed)
