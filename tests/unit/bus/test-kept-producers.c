/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whose programs get the places in systemd's store. A thread stands in for systemd. */

#include "../core/fixture.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bus/object/bus-producer.h"
#include "kept-producers.h"
#include "shared/fd.h"

#define CONFIG                  "buffers { size_kb: 64 } data_sources { config { name: 'track_event' } }"
#define ANOTHER_SUBORDINATE_UID (FIXTURE_SUBORDINATE_UID + 1)
#define A_USER                  2000
#define MANY                    FAKE_PRODUCERS_MAX

typedef struct World {
        Fixture core;
        Bus bus;
        BusProducer producers[MANY];
        size_t n;
        KeptProducers kept;
        uint64_t state;
        int store, memory_fd;
        pthread_t systemd;
} World;

static World w;

/* Takes everything, until it is told an empty text. */
static void *on_systemd(void *userdata) {
        char text[256];
        ssize_t n;

        do
                n = recv(w.store, text, sizeof(text), 0);
        while (n > 0);
        return NULL;
}

static void start_systemd(void) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        socklen_t n_address = sizeof(sa_family_t);
        char name[64];

        w.store = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        ck_assert_int_ge(w.store, 0);
        /* The kernel finds a name that is not taken. */
        ck_assert_int_eq(bind(w.store, (struct sockaddr *)&address, n_address), 0);
        n_address = sizeof(address);
        ck_assert_int_eq(getsockname(w.store, (struct sockaddr *)&address, &n_address), 0);
        snprintf(name,
                 sizeof(name),
                 "@%.*s",
                 (int)(n_address - sizeof(sa_family_t) - 1),
                 address.sun_path + 1);
        ck_assert_int_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
        ck_assert_int_eq(pthread_create(&w.systemd, NULL, on_systemd, NULL), 0);
}

/* A bell and a state of each. */
static bool has_descriptors(void) {
        struct rlimit limit;

        ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
        limit.rlim_cur = limit.rlim_max;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        if (limit.rlim_cur >= 3 * KEPT_PRODUCERS_MAX)
                return true;
        test_skip("a process may have only %llu descriptors here",
                  (unsigned long long)limit.rlim_cur);
        return false;
}

static void start(void) {
        const SessionOptions options = {
                .scope = SESSION_SCOPE_SYSTEM,
                .detached = true,
                .is_kept = true,
        };

        w = (World){};
        fixture_init(&w.core);
        fixture_start_session_with(&w.core, &options, CONFIG);
        w.bus.service = w.core.service;
        list_init(&w.bus.producers);
        kept_producers_init(&w.kept, &w.bus);
        w.memory_fd = memfd_create("test", MFD_CLOEXEC);
        ck_assert_int_ge(w.memory_fd, 0);
        start_systemd();
}

static void end(void) {
        kept_producers_deinit(&w.kept);
        shutdown(w.store, SHUT_RDWR);
        pthread_join(w.systemd, NULL);
        close(w.store);
        close(w.memory_fd);
        fixture_deinit(&w.core);
}

/* Programs of that uid come; returns how many of them are kept. */
static size_t come(uid_t uid, size_t n) {
        const ProducerOptions options = {
                .is_native = true,
                .memory_bytes = 64 << 10,
                .page_bytes = 4096,
        };
        const size_t before = w.kept.n;

        for (size_t i = 0; i < n; i++) {
                BusProducer *producer = &w.producers[w.n++];

                *producer = (BusProducer){
                        .bus = &w.bus,
                        .memory_fd = w.memory_fd,
                        .producer = fixture_connect_producer_with(
                                            &w.core, uid, "app", "track_event", &options)
                                            ->producer,
                };
                list_init(&producer->link);
                list_append(&w.bus.producers, &producer->link);
        }
        kept_producers_settle(&w.kept, ++w.state);
        return w.kept.n - before;
}

START_TEST(test_places_are_counted_by_account_and_there_is_an_end_to_them) {
        if (!has_descriptors())
                return;
        start();
        ck_assert_uint_eq(come(FIXTURE_SUBORDINATE_UID, KEPT_PRODUCERS_PER_USER_MAX - 1),
                          KEPT_PRODUCERS_PER_USER_MAX - 1);
        ck_assert_uint_eq(come(ANOTHER_SUBORDINATE_UID, 3), 1);
        ck_assert_uint_eq(come(1000, 1), 0);
        ck_assert_uint_eq(come(A_USER, 1), 1);
        come(A_USER + 1, KEPT_PRODUCERS_MAX - KEPT_PRODUCERS_PER_USER_MAX - 1);
        ck_assert_uint_eq(w.kept.n, KEPT_PRODUCERS_MAX);
        ck_assert_uint_eq(come(A_USER, 1), 0);
        end();
}
END_TEST

TEST_MAIN("kept-producers", test_places_are_counted_by_account_and_there_is_an_end_to_them)
