/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Kept producers: the shared memory of programs that write for sessions which are left to the next process */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

#include "bus/producer/bus-return.h"
#include "keep/kept-state.h"
#include "kept-producers.h"
#include "kept-store.h"
#include "shared/fd.h"
#include "shared/log.h"

#define TRIES_MAX 3 /* of processes that have ended soon */

typedef struct KeptProducer {
        List link;
        uint64_t id;
        uid_t user; /* whose places it takes */
        uint8_t key[BUS_PRODUCER_KEY_BYTES];
        KeptState state;
        uint64_t revision; /* of the state that was written last */
        bool is_seen;

        /* Found, and not taken yet. */
        int memory_fd, state_fd; /* or -1 */
        bool is_ready;
        ProducerPast past;
} KeptProducer;

static_assert(PRODUCER_PAST_BYTES_MAX <= KEPT_STATE_PAST_BYTES_MAX, "all of it is kept");
static_assert(BUS_PRODUCER_KEY_BYTES == sizeof(((KeptSession *)NULL)->uuid), "that is its place");

static KeptProducer *kept_free(KeptProducers *producers, KeptProducer *kept) {
        list_unlink(&kept->link);
        producers->n--;
        kept_state_deinit(&kept->state);
        producer_past_deinit(&kept->past);
        fd_close(kept->memory_fd);
        fd_close(kept->state_fd);
        free(kept);
        return NULL;
}

/* Also in the store. */
static void kept_forget(KeptProducers *producers, KeptProducer *kept) {
        kept_store_drop(kept->id, KEPT_STORE_PRODUCER, 0);
        kept_store_drop(kept->id, KEPT_STORE_MEMORY, 0);
        kept_free(producers, kept);
}

static KeptProducer *kept_find(const KeptProducers *producers, uint64_t id) {
        KeptProducer *kept;

        list_for_each (kept, &producers->kept, link)
                if (kept->id == id)
                        return kept;
        return NULL;
}

static KeptProducer *kept_new(KeptProducers *producers, uint64_t id) {
        KeptProducer *kept = producers->n < KEPT_PRODUCERS_MAX ? calloc(1, sizeof(*kept)) : NULL;

        if (!kept)
                return NULL;
        kept->id = id;
        kept->memory_fd = kept->state_fd = kept->state.fd = -1;
        list_init(&kept->link);
        list_append(&producers->kept, &kept->link);
        producers->n++;
        return kept;
}

/*
 * Keeping
 */

static int kept_write(KeptProducer *kept, const BusProducer *producer) {
        _cleanup_(bytes_deinit) Bytes past = {};
        const Identity *identity = producer_identity(producer->producer);
        KeptSession state = {
                .id = kept->id,
                .uid = identity->uid,
                .pid = (uint32_t)identity->pid,
        };
        int r;

        memcpy(state.uuid, producer->key, sizeof(state.uuid));
        r = producer_put_past(producer->producer, &past);
        if (r < 0)
                return r;
        state.n_past = (uint32_t)past.n;
        kept->revision = producer_past_revision(producer->producer);
        return kept_state_write(&kept->state, &state, NULL, past.data);
}

/* The state last: what has one is whole. */
static int kept_put(KeptProducer *kept, const BusProducer *producer) {
        int r;

        memcpy(kept->key, producer->key, sizeof(kept->key));
        kept->user = producer_user(producer->producer);
        r = kept_state_new(&kept->state);
        if (r == 0)
                r = kept_write(kept, producer);
        if (r == 0)
                r = kept_store_put(producer->memory_fd, kept->id, KEPT_STORE_MEMORY, 0);
        return r <= 0 ? r : kept_store_put(kept->state.fd, kept->id, KEPT_STORE_PRODUCER, 0);
}

/* A program that is refused is looked at again when something has changed, so that must be cheap. */
static bool has_room(const KeptProducers *producers, uid_t user) {
        const KeptProducer *kept;
        size_t n = 0;

        if (producers->n >= KEPT_PRODUCERS_MAX)
                return false;
        list_for_each (kept, &producers->kept, link)
                n += kept->user == user;
        return n < KEPT_PRODUCERS_PER_USER_MAX;
}

static void producers_add(KeptProducers *producers, const BusProducer *producer) {
        KeptProducer *kept;
        int r;

        if (!has_room(producers, producer_user(producer->producer)))
                return;
        kept = kept_new(producers, producer_id(producer->producer));
        r = kept ? kept_put(kept, producer) : -ENOMEM;
        if (r < 0)
                log_debug("the memory of producer %" PRIu64 " would not survive the service: %s",
                          producer_id(producer->producer),
                          strerror(-r));
        if (kept && r < 0)
                kept_forget(producers, kept);
        else if (kept)
                kept->is_seen = true;
}

/* A producer has another memory after a while: then it has another key. */
static void producers_see(KeptProducers *producers, const BusProducer *producer) {
        KeptProducer *kept = kept_find(producers, producer_id(producer->producer));

        if (kept && memcmp(kept->key, producer->key, sizeof(kept->key)) != 0) {
                kept_forget(producers, kept);
                kept = NULL;
        }
        if (!kept) {
                producers_add(producers, producer);
                return;
        }
        kept->is_seen = true;
        if (kept->revision != producer_past_revision(producer->producer))
                kept_write(kept, producer);
}

void kept_producers_settle(KeptProducers *producers, uint64_t state) {
        const BusProducer *producer;
        KeptProducer *kept;

        if (!producers->bus || state == producers->seen)
                return;
        producers->seen = state;
        list_for_each (producer, &producers->bus->producers, link)
                if (producer->memory_fd >= 0 && producer_can_be_left(producer->producer))
                        producers_see(producers, producer);
        list_for_each (kept, &producers->kept, link) {
                if (kept->is_seen)
                        kept->is_seen = false;
                else
                        kept_forget(producers, kept);
        }
}

/*
 * Finding
 */

void kept_producers_init(KeptProducers *producers, Bus *bus) {
        *producers = (KeptProducers){ .bus = bus };
        list_init(&producers->kept);
}

void kept_producers_add(KeptProducers *producers, uint64_t id, char what, int fd) {
        KeptProducer *kept = kept_find(producers, id) ?: kept_new(producers, id);
        int *place = NULL;

        if (kept)
                place = what == KEPT_STORE_MEMORY ? &kept->memory_fd : &kept->state_fd;
        if (place && *place < 0)
                *place = fd;
        else
                fd_close(fd);
}

static int kept_read(const Service *service, KeptProducer *kept) {
        _cleanup_(freep) uint8_t *bytes = NULL;
        KeptSession state;
        int r;

        r = kept_state_find(&kept->state, kept->state_fd);
        if (r != 0)
                return r;
        kept->state_fd = -1;
        if (kept_state_try(&kept->state) > TRIES_MAX)
                return -ELOOP;
        r = kept_state_read(&kept->state, &state, &bytes);
        if (r == 0)
                r = producer_past_read(&kept->past, bytes + state.n_config, state.n_past);
        if (r != 0)
                return r;
        memcpy(kept->key, state.uuid, sizeof(kept->key));
        kept->user =
                service_user_of(service, &(Identity){ .uid = state.uid, .pid = (pid_t)state.pid });
        return kept->past.id == kept->id && kept->memory_fd >= 0 ? 0 : -EBADMSG;
}

static int producers_expect(KeptProducers *producers, KeptProducer *kept) {
        uint64_t *grown = reallocarray(
                producers->origins, producers->n_origins + 1, sizeof(*producers->origins));
        int r;

        if (!grown)
                return -ENOMEM;
        producers->origins = grown;
        r = service_expect_producer(producers->bus->service, &kept->past);
        if (r < 0)
                return r;
        producers->origins[producers->n_origins++] = kept->past.origin_id;
        kept->is_ready = true;
        return 0;
}

static void kept_tell_lost(const KeptProducer *kept) {
        log_warning("what producer %" PRIu64 " had in its memory for the process before is lost: "
                    "another version has written it, or not all of it is there",
                    kept->id);
}

void kept_producers_prepare(KeptProducers *producers) {
        KeptProducer *kept;

        list_for_each (kept, &producers->kept, link) {
                int r = kept_read(producers->bus->service, kept);

                if (r == 0)
                        r = producers_expect(producers, kept);
                if (r == 0)
                        continue;
                kept_tell_lost(kept);
                kept_forget(producers, kept);
        }
}

static int kept_take(KeptProducers *producers, KeptProducer *kept) {
        BusProducer *producer;
        int r;

        r = bus_producer_restore(
                &producer, producers->bus, &kept->past, kept->key, kept->memory_fd);
        if (r != 0) {
                /* A session that has ended needs it no more. */
                if (r != -EBADMSG)
                        kept_tell_lost(kept);
                service_give_up_on_producer(producers->bus->service, &kept->past);
                return r;
        }
        kept->memory_fd = -1;
        return producer ? 0 : -ESRCH;
}

void kept_producers_take(KeptProducers *producers) {
        KeptProducer *kept;

        list_for_each (kept, &producers->kept, link)
                if (kept_take(producers, kept) != 0)
                        kept_forget(producers, kept);
        if (producers->n > 0)
                log_at(producers->bus->info->is_private ? LOG_DEBUG : LOG_NOTICE,
                       "%zu programs of the process before are expected back",
                       producers->n);
        free(producers->origins);
        producers->origins = NULL;
        producers->n_origins = 0;
}

void kept_producers_succeed(KeptProducers *producers) {
        KeptProducer *kept;

        if (!producers->bus)
                return;
        list_for_each (kept, &producers->kept, link)
                kept_state_succeed(&kept->state);
}

void kept_producers_deinit(KeptProducers *producers) {
        KeptProducer *kept;

        if (!producers->bus)
                return;
        while ((kept = list_first(&producers->kept, KeptProducer, link)))
                kept_free(producers, kept);
        assert(producers->n == 0 && producers->n_origins == 0);
        producers->bus = NULL;
}
