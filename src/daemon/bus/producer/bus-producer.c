/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A producer's shared memory and doorbell, and the core's requests to it (ProducerOps). */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "bus/link/bell.h"
#include "bus/object/bus-emit.h"
#include "bus/object/bus-source.h"
#include "bus/producer/bus-producer.h"
#include "bus/producer/producer-call.h"
#include "bus/producer/producer-request.h"
#include "shared/fd.h"
#include "shared/log-user.h"
#include "shared/names.h"
#include "shared/pid-namespace.h"

/* A peer that no request can reach stops being a producer. */
static void producer_broke(BusProducer *producer, int r) {
        log_user(producer->client->identity.uid,
                 LOG_WARNING,
                 "cannot talk to %s: %s",
                 client_describe(producer->client),
                 strerror(-r));
        client_is_gone(producer->client);
}

static void on_doorbell(Doorbell *doorbell) {
        BusProducer *producer = container_of(doorbell, BusProducer, doorbell);
        Bus *bus = producer->bus;

        producer_doorbell(producer->producer, bus_now(bus));
        producer_take_answers(producer);
        bus_counters_changed(bus);
}

static int producer_map(BusProducer *producer, int *ret_fd, size_t n_bytes) {
        _cleanup_(fd_closep) int fd = -1;
        void *memory;
        int r;

        r = fd_new_sealed_memfd(&fd, "desktrace-producer", n_bytes);
        if (r < 0)
                return r;
        memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED)
                return -errno;
        producer->memory = memory;
        producer->n_memory = n_bytes;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

static void producer_unmap(BusProducer *producer) {
        doorbell_close(&producer->doorbell);
        producer->bell = fd_close(producer->bell);
        producer->memory_fd = fd_close(producer->memory_fd);
        if (producer->memory)
                munmap(producer->memory, producer->n_memory);
        producer->memory = NULL;
        producer->n_memory = 0;
}

static void op_release_memory(void *peer) {
        BusProducer *producer = peer;

        producer_request_release(producer);
        producer_unmap(producer);
        producer->bus->has_released = true;
}

/* A producer in another pid namespace gets a descriptor that tells it our numbers for its threads. */
static int append_task_link(const BusProducer *producer, sd_bus_message *call) {
        _cleanup_(fd_closep) int fd = -1;

        if (!producer->has_other_pids || task_link_open(&fd) < 0)
                return 0;
        return sd_bus_message_append(call, "{sv}", "task-link", "h", fd);
}

/* Only if the memory is kept: a program must not wait for a service that will not know it. */
static int append_key(const BusProducer *producer, sd_bus_message *call) {
        int r;

        r = sd_bus_message_open_container(call, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(call, "s", "key");
        if (r >= 0)
                r = sd_bus_message_open_container(call, 'v', "ay");
        if (r >= 0)
                r = sd_bus_message_append_array(call, 'y', producer->key, sizeof(producer->key));
        if (r >= 0)
                r = sd_bus_message_close_container(call);
        return r < 0 ? r : sd_bus_message_close_container(call);
}

/* The container stays open. */
static int append_setup_options(const BusProducer *producer,
                                sd_bus_message *call,
                                uint32_t page_bytes,
                                int bell) {
        int r;

        r = sd_bus_message_open_container(call, 'a', "{sv}");
        if (r >= 0)
                r = sd_bus_message_append(call, "{sv}", "page-size", "u", page_bytes);
        if (r >= 0)
                r = sd_bus_message_append(call, "{sv}", "bell", "h", bell);
        if (r >= 0 && producer->bus->keeps)
                r = append_key(producer, call);
        return r < 0 ? r : append_task_link(producer, call);
}

int bus_producer_new_setup(BusProducer *producer, uint32_t page_bytes, sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        _cleanup_(fd_closep) int bell = -1;
        int r;

        r = doorbell_open(&producer->doorbell, &producer->bus->doorbells, on_doorbell);
        if (r >= 0)
                r = bell_open(&producer->bell, &bell);
        if (r >= 0)
                r = producer_call_message(&call, producer, PRODUCER_CALL_SETUP_TRACING);
        if (r >= 0)
                r = sd_bus_message_append(call, "hh", producer->memory_fd, producer->doorbell.fd);
        if (r >= 0)
                r = append_setup_options(producer, call, page_bytes, bell);
        if (r < 0)
                return r;
        *ret = TAKE(call);
        return 0;
}

static int op_setup_memory(void *peer, size_t pages_bytes, uint32_t page_bytes, SmbArea *ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        BusProducer *producer = peer;
        int r;

        if (producer->is_away)
                return -EHOSTDOWN;
        producer_unmap(producer); /* left over from an earlier attempt */
        r = producer_map(producer, &producer->memory_fd, smb_native_bytes(pages_bytes, page_bytes));
        if (r < 0)
                return r;
        smb_area_create(ret, producer->memory, pages_bytes, page_bytes);
        if (producer->bus->keeps &&
            getrandom(producer->key, sizeof(producer->key), 0) != sizeof(producer->key))
                return -EAGAIN;
        r = bus_producer_new_setup(producer, page_bytes, &call);
        if (r >= 0)
                r = sd_bus_message_close_container(call);
        if (r < 0)
                return r;
        if (!producer->bus->keeps)
                producer->memory_fd = fd_close(producer->memory_fd);
        producer_call(producer, PRODUCER_CALL_SETUP_TRACING, 0, 0, TAKE(call));
        return 0;
}

/* The core repeats its requests when a producer that is away returns. */
static bool producer_is_reached(const BusProducer *producer) {
        return !producer->is_away;
}

static void op_setup_source(void *peer,
                            uint64_t instance,
                            const char *name,
                            const void *config,
                            size_t n_config) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        BusProducer *producer = peer;
        int r;

        if (!producer_is_reached(producer))
                return;
        r = producer_call_message(&call, producer, PRODUCER_CALL_SETUP_SOURCE);
        if (r >= 0)
                r = sd_bus_message_append(call, "ts", instance, name);
        if (r >= 0)
                r = sd_bus_message_append_array(call, 'y', config, n_config);
        if (r < 0)
                producer_broke(producer, r);
        else
                producer_call(producer, PRODUCER_CALL_SETUP_SOURCE, instance, n_config, TAKE(call));
}

static void
producer_call_instance(BusProducer *producer, ProducerCallKind kind, uint64_t instance) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = producer_call_message(&call, producer, kind);
        if (r >= 0)
                r = sd_bus_message_append(call, "t", instance);
        if (r < 0)
                producer_broke(producer, r);
        else
                producer_call(producer, kind, instance, 0, TAKE(call));
}

static void op_start_source(void *peer, uint64_t instance) {
        if (!producer_is_reached(peer))
                return;
        if (!producer_call_joins_setup(peer, instance))
                producer_call_instance(peer, PRODUCER_CALL_START_SOURCE, instance);
}

static void op_stop_source(void *peer, uint64_t instance) {
        if (!producer_is_reached(peer))
                return;
        if (producer_request(peer, PRODUCER_CALL_STOP_SOURCE, instance, &instance, 1) == 0)
                return;
        producer_call_instance(peer, PRODUCER_CALL_STOP_SOURCE, instance);
}

static void op_flush(void *peer,
                     uint64_t flush_id,
                     const uint64_t *instances,
                     size_t n_instances,
                     uint64_t flags) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        BusProducer *producer = peer;
        int r;

        if (!producer_is_reached(producer))
                return;
        if (producer_request(producer, PRODUCER_CALL_FLUSH, flush_id, instances, n_instances) == 0)
                return;
        r = producer_call_message(&call, producer, PRODUCER_CALL_FLUSH);
        if (r >= 0)
                r = sd_bus_message_append_array(
                        call, 't', instances, n_instances * sizeof(*instances));
        if (r >= 0)
                r = sd_bus_message_append(call, "t", flags);
        if (r < 0)
                producer_broke(producer, r);
        else
                producer_call(producer,
                              PRODUCER_CALL_FLUSH,
                              flush_id,
                              n_instances * sizeof(*instances),
                              TAKE(call));
}

static void op_clear_incremental_state(void *peer, const uint64_t *instances, size_t n_instances) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        BusProducer *producer = peer;
        int r;

        if (!producer_is_reached(producer))
                return;
        if (producer_request(producer, PRODUCER_CALL_CLEAR_STATE, 0, instances, n_instances) == 0)
                return;
        r = producer_call_message(&call, producer, PRODUCER_CALL_CLEAR_STATE);
        if (r >= 0)
                r = sd_bus_message_append_array(
                        call, 't', instances, n_instances * sizeof(*instances));
        if (r < 0)
                producer_broke(producer, r);
        else
                producer_call(producer,
                              PRODUCER_CALL_CLEAR_STATE,
                              0,
                              n_instances * sizeof(*instances),
                              TAKE(call));
}

const ProducerOps bus_producer_ops = {
        .setup_memory = op_setup_memory,
        .release_memory = op_release_memory,
        .setup_source = op_setup_source,
        .start_source = op_start_source,
        .stop_source = op_stop_source,
        .flush = op_flush,
        .clear_incremental_state = op_clear_incremental_state,
};

int bus_producer_allocate(BusProducer **ret, Bus *bus) {
        BusProducer *producer = calloc(1, sizeof(*producer));

        if (!producer)
                return -ENOMEM;
        producer->bus = bus;
        producer->doorbell.fd = producer->bell = producer->memory_fd = -1;
        list_init(&producer->calls);
        list_init(&producer->unsent);
        list_append(&bus->producers, &producer->link);
        bus->counts_changed = true;
        *ret = producer;
        return 0;
}

int bus_producer_name_path(BusProducer *producer) {
        const uint64_t id = producer_id(producer->producer);

        return asprintf(&producer->path, TRACING_PRODUCER_PATH "/%" PRIu64, id) < 0 ? -ENOMEM : 0;
}

int bus_producer_new(BusProducer **ret,
                     Client *client,
                     const Identity *identity,
                     const char *name,
                     const ProducerOptions *options) {
        _cleanup_(bus_producer_freep) BusProducer *producer = NULL;
        int r;

        r = bus_producer_allocate(&producer, client->bus);
        if (r < 0)
                return r;
        producer->client = client;
        r = producer_new(&producer->producer,
                         client->bus->service,
                         identity,
                         name,
                         options,
                         &bus_producer_ops,
                         producer);
        if (r == 0)
                r = bus_producer_name_path(producer);
        if (r)
                return r;
        *ret = TAKE(producer);
        return 0;
}

int bus_producer_new_foreign(BusProducer **ret, Bus *bus, Producer *foreign) {
        _cleanup_(bus_producer_freep) BusProducer *producer = NULL;
        int r;

        r = bus_producer_allocate(&producer, bus);
        if (r < 0)
                return r;
        producer->producer = foreign;
        r = bus_producer_name_path(producer);
        if (r < 0)
                return r;
        *ret = TAKE(producer);
        return 0;
}

BusProducer *bus_producer_free(BusProducer *producer) {
        if (!producer)
                return NULL;

        list_unlink(&producer->link);
        if (producer->is_announced)
                bus_emit_producer_removed(producer);
        if (producer->producer)
                bus_source_withdraw_all(producer);
        if (producer->client || producer->is_away)
                producer_free(producer->producer); /* still reads the memory */
        producer->bus->n_away -= producer->is_away;
        sd_event_source_disable_unref(producer->end);
        producer_calls_drop(producer);
        assert(producer->n_calls == 0 && !producer->called.user);
        assert(producer->n_call_bytes == 0 && producer->call_charge.n == 0);
        charge_deinit(&producer->call_charge);
        producer_unmap(producer);
        producer_home_deinit(&producer->home);
        producer->bus->counts_changed = true;
        free(producer->path);
        free(producer);
        return NULL;
}
