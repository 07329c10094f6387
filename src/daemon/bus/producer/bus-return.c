/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Returning producers: those of the earlier process, and the memory that waits for them */

#include <errno.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bus/object/bus-source.h"
#include "bus/producer/bus-return.h"
#include "shared/fd.h"
#include "shared/log-user.h"

static void producer_give_up(BusProducer *producer, const char *why) {
        const Identity identity = *producer_identity(producer->producer);

        log_user(identity.uid,
                 LOG_NOTICE,
                 "\"%s\" (pid %d) %s; what it had written for the sessions of the process before "
                 "is in them",
                 producer_name(producer->producer),
                 (int)identity.pid,
                 why);
        bus_producer_free(producer);
}

static int on_process_ended(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        producer_give_up(userdata, "has ended while there was no service");
        return 0;
}

/* -ESRCH: it has ended. If the process cannot be watched, the deadline decides. */
static int producer_watch(BusProducer *producer) {
        _cleanup_(fd_closep) int fd = -1;
        const pid_t pid = producer_identity(producer->producer)->pid;
        int r;

        if (pid <= 0)
                return 0;
        fd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (fd < 0)
                return errno == ESRCH ? -ESRCH : 0;
        r = sd_event_add_io(
                producer->bus->event, &producer->end, fd, EPOLLIN, on_process_ended, producer);
        if (r < 0)
                return 0;
        sd_event_source_set_io_fd_own(producer->end, true);
        TAKE_FD(fd);
        return 0;
}

static int producer_map_again(BusProducer *producer, int fd) {
        struct stat st;
        void *memory;

        if (fd_check_sealed_memfd(fd, 1) < 0 || fstat(fd, &st) < 0 || st.st_size > SSIZE_MAX)
                return -EBADMSG;
        memory = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED)
                return -errno;
        producer->memory = memory;
        producer->n_memory = (size_t)st.st_size;
        return 0;
}

/* Nobody waits for answers to the earlier process's requests in the memory. */
static void producer_forget_requests(BusProducer *producer) {
        for (size_t i = 0; i < SMB_REQUESTS; i++)
                producer->asked[i].kind = PRODUCER_CALL_CLEAR_STATE;
}

static int producer_announce(BusProducer *producer) {
        int r;

        r = bus_producer_name_path(producer);
        for (size_t i = 0; r >= 0 && i < producer_n_sources(producer->producer); i++)
                r = bus_source_offer(producer, producer_source_name(producer->producer, i));
        producer->is_announced = r >= 0;
        return r;
}

int bus_producer_restore(BusProducer **ret,
                         Bus *bus,
                         const ProducerPast *past,
                         const uint8_t key[static BUS_PRODUCER_KEY_BYTES],
                         int memory_fd) {
        _cleanup_(bus_producer_freep) BusProducer *producer = NULL;
        int r;

        r = bus_producer_allocate(&producer, bus);
        if (r < 0)
                return r;
        producer->is_away = true;
        bus->n_away++;
        producer->away_until = bus_now(bus) + BUS_AWAY_NS;
        memcpy(producer->key, key, sizeof(producer->key));
        producer_forget_requests(producer);
        r = producer_map_again(producer, memory_fd);
        if (r == 0)
                r = producer_restore(&producer->producer,
                                     bus->service,
                                     past,
                                     producer->memory,
                                     producer->n_memory,
                                     &bus_producer_ops,
                                     producer,
                                     bus_now(bus));
        if (r)
                return r;
        r = producer_announce(producer);
        if (r < 0)
                return r;
        producer->memory_fd = memory_fd;
        *ret = NULL;
        if (producer_watch(producer) < 0)
                producer_give_up(TAKE(producer), "has ended while there was no service");
        else
                *ret = TAKE(producer);
        return 0;
}

static bool is_same_process(const BusProducer *producer, const Identity *identity) {
        const Identity *own = producer_identity(producer->producer);

        return producer->is_away && own->uid == identity->uid && own->pid == identity->pid;
}

BusProducer *bus_away_find(Bus *bus, const Identity *identity, const void *key, size_t n_key) {
        BusProducer *producer;

        if (bus->n_away == 0 || n_key != BUS_PRODUCER_KEY_BYTES)
                return NULL;
        list_for_each (producer, &bus->producers, link)
                if (is_same_process(producer, identity) &&
                    memcmp(producer->key, key, BUS_PRODUCER_KEY_BYTES) == 0)
                        return producer;
        return NULL;
}

static void append_instance(void *userdata, uint64_t instance) {
        sd_bus_message_append(userdata, "t", instance);
}

/* An error of an element is found when the message is sealed. */
static int append_instances(const BusProducer *producer, sd_bus_message *call) {
        int r;

        r = sd_bus_message_open_container(call, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(call, "s", "instances");
        if (r >= 0)
                r = sd_bus_message_open_container(call, 'v', "at");
        if (r >= 0)
                r = sd_bus_message_open_container(call, 'a', "t");
        if (r < 0)
                return r;
        producer_list_instances(producer->producer, append_instance, call);
        r = sd_bus_message_close_container(call);
        if (r >= 0)
                r = sd_bus_message_close_container(call);
        return r < 0 ? r : sd_bus_message_close_container(call);
}

/* Sent before the reply to the program's registration: without it the program would conclude from the reply that it is
 * not known. */
static int producer_tell(BusProducer *producer) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = bus_producer_new_setup(producer, producer_page_bytes(producer->producer), &call);
        if (r >= 0)
                r = append_instances(producer, call);
        if (r >= 0)
                r = sd_bus_message_close_container(call);
        if (r >= 0)
                r = sd_bus_message_set_expect_reply(call, false);
        return r < 0 ? r : sd_bus_send(producer->client->connection, call, NULL);
}

int bus_away_return(BusProducer *producer, Client *client) {
        int r;

        producer->client = client;
        r = producer_tell(producer);
        if (r < 0) {
                producer->client = NULL;
                return r;
        }
        producer->end = sd_event_source_disable_unref(producer->end);
        producer->is_away = false;
        producer->bus->n_away--;
        return 0;
}

void bus_away_forget(Bus *bus, const Identity *identity) {
        BusProducer *producer;

        if (bus->n_away == 0)
                return;
        list_for_each (producer, &bus->producers, link)
                if (is_same_process(producer, identity))
                        producer_give_up(producer, "has begun again");
}

uint64_t bus_away_deadline(const Bus *bus) {
        const BusProducer *producer;
        uint64_t deadline = UINT64_MAX;

        if (bus->n_away == 0)
                return UINT64_MAX;
        list_for_each (producer, &bus->producers, link)
                if (producer->is_away)
                        deadline = MIN(deadline, producer->away_until);
        return deadline;
}

void bus_away_tick(Bus *bus, uint64_t now) {
        BusProducer *producer;

        if (bus->n_away == 0)
                return;
        list_for_each (producer, &bus->producers, link)
                if (producer->is_away && producer->away_until <= now)
                        producer_give_up(producer, "has not come back");
}

void bus_away_end(Bus *bus) {
        BusProducer *producer;

        list_for_each (producer, &bus->producers, link)
                if (producer->is_away)
                        bus_producer_free(producer);
}
