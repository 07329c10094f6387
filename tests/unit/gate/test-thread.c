/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The gate of the message bus, which a thread has as long as sd-bus waits for the message bus, and then the loop. */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <unistd.h>

#include "closer/closer.h"
#include "gate/gate-thread.h"
#include "shared/fd.h"
#include "test.h"
#include "world.h"

#define ROOM      1024
#define WAIT_MS   20000
#define PAUSE_US  50000 /* long enough for a thread that does what it must not */
#define N_ANSWERS 3000
#define N_TURNS   1024

typedef struct ThreadWorld {
        GateThread *thread;
        int bus, service;
        sem_t may_find;
} ThreadWorld;

static uint8_t message[ROOM];

static int find_user(void *userdata, const char *sender, uid_t *ret) {
        ThreadWorld *world = userdata;

        while (sem_wait(&world->may_find) < 0)
                ;
        *ret = ALICE;
        return streq(sender, ":1.9") ? 0 : -ENXIO;
}

static bool has_input(int fd) {
        struct pollfd wait = { .fd = fd, .events = POLLIN };

        return poll(&wait, 1, WAIT_MS) == 1;
}

static void world_begin(ThreadWorld *world) {
        static const char hello[] = "\0AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n";
        static const char answer[] = "DATA\r\nOK " GUID "\r\nAGREE_UNIX_FD\r\n";
        GateThreadOptions options = { .find_user = find_user, .userdata = world };
        char said[ROOM];
        size_t n = 0;
        int fds[2];

        *world = (ThreadWorld){ .service = -1 };
        sem_init(&world->may_find, 0, 0);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds),
                         0);
        world->bus = fds[0];
        options.fd = fds[1];
        ck_assert_int_eq(gate_thread_new(&world->thread, &world->service, &options), 0);
        send_all(world->service, hello, sizeof(hello) - 1);
        while (n < sizeof(hello) - 1 && has_input(world->bus))
                n += receive(world->bus, said, sizeof(said), NULL, NULL);
        send_all(world->bus, answer, sizeof(answer) - 1);
        for (n = 0; n < sizeof(answer) - 1 && has_input(world->service);)
                n += receive(world->service, said, sizeof(said), NULL, NULL);
}

static void world_end(ThreadWorld *world) {
        world->service = fd_close(world->service);
        world->thread = gate_thread_free(world->thread);
        fd_close(world->bus);
        sem_destroy(&world->may_find);
}

static size_t receive_now(ThreadWorld *world) {
        uint8_t received[ROOM];
        size_t n_fds;

        return receive(world->service, received, sizeof(received), NULL, &n_fds);
}

START_TEST(test_thread_has_the_gate_until_the_loop_takes_it) {
        const size_t n = make_message(message, 8, 0, ":1.9");
        ThreadWorld world;

        world_begin(&world);
        send_all(world.bus, message, n);
        ck_assert(has_input(world.service));
        ck_assert_uint_eq(receive_now(&world), n);

        gate_thread_hand_over(world.thread);
        send_all(world.bus, message, n);
        usleep(PAUSE_US);
        ck_assert_uint_eq(receive_now(&world), 0);
        ck_assert(has_input(gate_thread_fd(world.thread)));
        gate_thread_turn(world.thread);
        ck_assert_uint_eq(receive_now(&world), n);

        gate_thread_take_back(world.thread);
        send_all(world.bus, message, n);
        ck_assert(has_input(world.service));
        ck_assert_uint_eq(receive_now(&world), n);
        world_end(&world);
}
END_TEST

START_TEST(test_loop_does_not_wait_to_learn_whose_descriptors_come) {
        const size_t n = make_message(message, 8, 1, ":1.9");
        const int file = some_file();
        ThreadWorld world;

        world_begin(&world);
        gate_thread_hand_over(world.thread);
        send_with_fds(world.bus, message, n, &file, 1);
        while (gate_thread_turn(world.thread)) /* would not return */
                ;
        ck_assert_uint_eq(receive_now(&world), 0);
        sem_post(&world.may_find);
        for (size_t n_received = 0; n_received < n; n_received += receive_now(&world)) {
                ck_assert(has_input(gate_thread_fd(world.thread)));
                gate_thread_turn(world.thread);
        }
        world_end(&world);
}
END_TEST

START_TEST(test_what_was_asked_in_the_loop_is_answered_on_the_thread) {
        const size_t n = make_message(message, 8, 1, ":1.9");
        const int file = some_file();
        ThreadWorld world;

        world_begin(&world);
        gate_thread_hand_over(world.thread);
        send_with_fds(world.bus, message, n, &file, 1);
        gate_thread_turn(world.thread);
        while (gate_thread_turn(world.thread))
                ;
        gate_thread_take_back(world.thread);
        sem_post(&world.may_find);
        ck_assert(has_input(world.service));
        ck_assert_uint_eq(receive_now(&world), n);
        world_end(&world);
}
END_TEST

START_TEST(test_loop_drops_what_nobody_wants) {
        const size_t n = make_message(message, 8, 1, ":1.10");
        const int file = some_file();
        ThreadWorld world;
        size_t n_next, n_received = 0;

        world_begin(&world);
        sem_post(&world.may_find);
        gate_thread_hand_over(world.thread);
        send_with_fds(world.bus, message, n, &file, 1);
        n_next = make_message(message, 24, 0, ":1.10");
        send_all(world.bus, message, n_next);
        while (n_received == 0) {
                ck_assert(has_input(gate_thread_fd(world.thread)));
                gate_thread_turn(world.thread);
                n_received = receive_now(&world);
        }
        ck_assert_uint_eq(n_received, n_next);
        world_end(&world);
}
END_TEST

/* Its descriptor is closed again. */
static size_t receive_and_close(ThreadWorld *world) {
        uint8_t received[ROOM];
        size_t n, n_fds;
        int fds[64];

        n = receive(world->service, received, sizeof(received), fds, &n_fds);
        while (n_fds > 0)
                fd_close(fds[--n_fds]);
        return n;
}

/* The answer may come at any moment of a turn. */
START_TEST(test_no_answer_is_missed) {
        const size_t n = make_message(message, 8, 1, ":1.9");
        const int file = some_file();
        ThreadWorld world;

        world_begin(&world);
        gate_thread_hand_over(world.thread);
        for (unsigned i = 0; i < N_ANSWERS; i++) {
                size_t n_received = 0;

                send_with_fds(world.bus, message, n, &file, 1);
                while (gate_thread_turn(world.thread))
                        ;
                sem_post(&world.may_find);
                for (unsigned j = 0; j < i % N_TURNS; j++)
                        gate_thread_turn(world.thread);
                for (;;) {
                        n_received += receive_and_close(&world);
                        if (n_received == n)
                                break;
                        ck_assert(has_input(gate_thread_fd(world.thread)));
                        gate_thread_turn(world.thread);
                }
                closer_replace(NULL); /* it has closed what was passed */
        }
        world_end(&world);
        close(file);
}
END_TEST

TEST_MAIN("gate-thread",
          test_thread_has_the_gate_until_the_loop_takes_it,
          test_loop_does_not_wait_to_learn_whose_descriptors_come,
          test_what_was_asked_in_the_loop_is_answered_on_the_thread,
          test_loop_drops_what_nobody_wants,
          test_no_answer_is_missed)
