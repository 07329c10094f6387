/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The calls of producers. Unknown options are skipped, so that a newer library can talk to an older service.
 */

#include <errno.h>
#include <stdlib.h>

#include "bus/link/bus-error.h"
#include "bus/link/names-read.h"
#include "bus/link/passed-fd.h"
#include "bus/link/values.h"
#include "bus/object/bus-emit.h"
#include "bus/object/bus-source.h"
#include "bus/producer/bus-events.h"
#include "bus/producer/bus-producer-object.h"
#include "bus/producer/bus-producer.h"
#include "bus/producer/bus-register.h"
#include "bus/producer/bus-return.h"
#include "gate/stand-in.h"
#include "shared/pid-namespace.h"

typedef struct SourceArguments {
        SourceOptions options; /* the descriptor and the text point into the message */
        char **categories;
        bool has_too_many; /* categories */
        uint32_t packet_fields[PACKET_FIELDS_MAX];
} SourceArguments;

static void source_arguments_deinit(SourceArguments *arguments) {
        names_free(arguments->categories);
}

typedef struct ProducerArguments {
        ProducerOptions options;
        bool has_namespace;
        uint64_t namespace; /* 0: it does not know */
        int proof_fd;       /* the message's; -1: none */
        /* The key of the memory that the program has, and the instances that write there; both lie in the message.
         * NULL: it has none. */
        const void *key, *instances;
        size_t n_key, n_instances; /* bytes */
} ProducerArguments;

/* Reads one option; the caller's table has compared its name and signature. */
typedef struct OptionReader {
        const char *name;
        const char *type;
        int (*read)(sd_bus_message *message, void *target);
} OptionReader;

static int read_descriptor(sd_bus_message *message, void *target) {
        SourceArguments *arguments = target;

        return sd_bus_message_read_array(
                message, 'y', &arguments->options.descriptor, &arguments->options.n_descriptor);
}

static int read_no_flush(sd_bus_message *message, void *target) {
        SourceArguments *arguments = target;
        int value, r;

        r = sd_bus_message_read(message, "b", &value);
        arguments->options.no_flush = r > 0 && value;
        return r;
}

static int read_categories(sd_bus_message *message, void *target) {
        SourceArguments *arguments = target;

        size_t n;
        int r;

        if (arguments->categories)
                return -EBADMSG; /* given twice */
        r = names_read(&arguments->categories, &n, message, SOURCE_CATEGORIES_MAX);
        arguments->has_too_many = r == NAMES_E_TOO_MANY;
        return arguments->has_too_many ? -E2BIG : r;
}

/* One entry more than is allowed is passed on, so that the core refuses the list for its length. */
static int read_packet_fields(sd_bus_message *message, void *target) {
        SourceArguments *arguments = target;
        const void *fields;
        size_t n_bytes;
        int r;

        r = sd_bus_message_read_array(message, 'u', &fields, &n_bytes);
        if (r < 0)
                return r;
        arguments->options.n_packet_fields = n_bytes / sizeof(uint32_t);
        if (arguments->options.n_packet_fields <= PACKET_FIELDS_MAX && n_bytes > 0)
                memcpy(arguments->packet_fields, fields, n_bytes);
        arguments->options.packet_fields = arguments->packet_fields;
        return 0;
}

static int read_unavailable(sd_bus_message *message, void *target) {
        SourceArguments *arguments = target;

        return sd_bus_message_read(message, "s", &arguments->options.unavailable);
}

static int read_memory_kb(sd_bus_message *message, void *target) {
        ProducerArguments *arguments = target;
        uint32_t kb;
        int r;

        r = sd_bus_message_read(message, "u", &kb);
        if (r > 0)
                arguments->options.memory_bytes = (size_t)kb << 10;
        return r;
}

static int read_page_kb(sd_bus_message *message, void *target) {
        ProducerArguments *arguments = target;
        uint32_t kb;
        int r;

        r = sd_bus_message_read(message, "u", &kb);
        if (r > 0)
                arguments->options.page_bytes =
                        kb <= SMB_PAGE_BYTES_MAX >> 10 ? kb << 10 : 0; /* a hint */
        return r;
}

static int read_pid_namespace(sd_bus_message *message, void *target) {
        ProducerArguments *arguments = target;

        arguments->has_namespace = true;
        return sd_bus_message_read(message, "t", &arguments->namespace);
}

static int read_pid_proof(sd_bus_message *message, void *target) {
        ProducerArguments *arguments = target;

        return sd_bus_message_read(message, "h", &arguments->proof_fd);
}

static int read_memory_key(sd_bus_message *message, void *target) {
        ProducerArguments *arguments = target;

        return sd_bus_message_read_array(message, 'y', &arguments->key, &arguments->n_key);
}

static int read_instances(sd_bus_message *message, void *target) {
        ProducerArguments *arguments = target;

        return sd_bus_message_read_array(
                message, 't', &arguments->instances, &arguments->n_instances);
}

/* clang-format off */
static const OptionReader source_readers[] = {
        { "descriptor",    "ay", read_descriptor },
        { "no-flush",      "b",  read_no_flush },
        { "categories",    "as", read_categories },
        { "packet-fields", "au", read_packet_fields },
        { "unavailable",   "s",  read_unavailable },
        {},
};
/* clang-format on */

/* clang-format off */
static const OptionReader producer_readers[] = {
        { "shared-memory-kb", "u", read_memory_kb },
        { "page-kb",          "u", read_page_kb },
        { "pid-namespace",    "t", read_pid_namespace },
        { "pid-proof",        "h", read_pid_proof },
        { "memory-key",       "ay", read_memory_key },
        { "instances",        "at", read_instances },
        {},
};
/* clang-format on */

/* Skips an option that only a newer library knows. */
static int skip_option(sd_bus_message *message) {
        size_t n_left = BUS_VALUES_MAX;

        return values_pass(message, 1, &n_left);
}

static int read_option(sd_bus_message *message,
                       const OptionReader *readers,
                       void *target,
                       sd_bus_error *error) {
        const char *name, *type;
        int r;

        r = sd_bus_message_read(message, "s", &name);
        if (r < 0)
                return r;
        while (readers->name && !streq(readers->name, name))
                readers++;
        if (!readers->name)
                return skip_option(message);
        r = sd_bus_message_peek_type(message, NULL, &type);
        if (r < 0)
                return r;
        if (!streq(type, readers->type))
                return bus_error_set(error,
                                     BUS_ERROR_BAD_CONFIG,
                                     "option \"%s\" has D-Bus type \"%s\"; it must be \"%s\"",
                                     name,
                                     type,
                                     readers->type);
        r = sd_bus_message_enter_container(message, 'v', readers->type);
        if (r >= 0)
                r = readers->read(message, target);
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

static int read_options(sd_bus_message *message,
                        const OptionReader *readers,
                        void *target,
                        sd_bus_error *error) {
        int r;

        r = sd_bus_message_enter_container(message, 'a', "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
                r = read_option(message, readers, target, error);
                if (r >= 0)
                        r = sd_bus_message_exit_container(message);
                if (r < 0)
                        return r;
        }
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

/* Reads "sa{sv}" and adds the source. */
static int read_source(BusProducer *producer, sd_bus_message *message, sd_bus_error *error) {
        _cleanup_(source_arguments_deinit) SourceArguments arguments = {};
        const char *name;
        int r;

        r = sd_bus_message_read(message, "s", &name);
        if (r < 0)
                return r;
        r = read_options(message, source_readers, &arguments, error);
        if (arguments.has_too_many)
                return bus_error_set(error,
                                     BUS_ERROR_LIMIT_EXCEEDED,
                                     "\"%s\" has more than %d categories (SOURCE_CATEGORIES_MAX); "
                                     "put the rest into another data source",
                                     name,
                                     SOURCE_CATEGORIES_MAX);
        if (r < 0)
                return r;
        arguments.options.categories = (const char *const *)arguments.categories;
        r = producer_add_source(
                producer->producer, name, &arguments.options, bus_now(producer->client->bus));
        if (r)
                return bus_error_set_producer(error, name, r);
        bus_events_note(producer->bus, name, arguments.options.categories);
        return bus_source_offer(producer, name);
}

static int read_sources(BusProducer *producer, sd_bus_message *message, sd_bus_error *error) {
        int r;

        r = sd_bus_message_enter_container(message, 'a', "(sa{sv})");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(message, 'r', "sa{sv}")) > 0) {
                r = read_source(producer, message, error);
                if (r >= 0)
                        r = sd_bus_message_exit_container(message);
                if (r < 0)
                        return r;
        }
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

/* Before any of them is read: the message has `n_arguments`. */
static int check_values(sd_bus_message *message, size_t n_arguments, sd_bus_error *error) {
        size_t n_left = BUS_VALUES_MAX;
        int r;

        r = values_pass(message, n_arguments, &n_left);
        if (r == VALUES_E_TOO_MANY)
                return bus_error_set(error,
                                     BUS_ERROR_LIMIT_EXCEEDED,
                                     "this call has more than %d values (BUS_VALUES_MAX); register "
                                     "data sources with fewer categories, or in several calls",
                                     BUS_VALUES_MAX);
        return r < 0 ? r : sd_bus_message_rewind(message, true);
}

/* Options are the last argument of the message, but are needed first. */
static int
read_producer_options(sd_bus_message *message, ProducerArguments *ret, sd_bus_error *error) {
        size_t n_left = BUS_VALUES_MAX;
        int r;

        r = check_values(message, 3, error);
        if (r >= 0)
                r = values_pass(message, 2, &n_left);
        if (r >= 0)
                r = read_options(message, producer_readers, ret, error);
        return r < 0 ? r : sd_bus_message_rewind(message, true);
}

/* If a proxy stands before the producer, the bus attests the proxy, and the kernel attests the process behind it.
 * That process cannot choose its uid, which keeps sandboxes of different users apart. */
static Identity producer_identity_of(const Client *client, const ProducerArguments *arguments) {
        Identity identity = client->identity, proven;
        int fd, r;

        if (arguments->proof_fd < 0 || !client->name || stand_in_take(&fd, arguments->proof_fd) < 0)
                return identity;
        r = pid_proof_take(&proven, fd, client->name);
        if (r == 0 && proven.uid == identity.uid)
                identity.pid = proven.pid;
        passed_fd_close(client, fd);
        return identity;
}

static bool has_other_pids(const ProducerArguments *arguments) {
        uint64_t own;

        return arguments->has_namespace && pid_namespace_get(&own) == 0 &&
               own != arguments->namespace;
}

/* The producer is the one that was away, or a new one. */
static int obtain_producer(BusProducer **ret,
                           Client *client,
                           const char *name,
                           const ProducerArguments *arguments) {
        const Identity identity = producer_identity_of(client, arguments);
        BusProducer *away = bus_away_find(client->bus, &identity, arguments->key, arguments->n_key);
        int r;

        if (!away) {
                bus_away_forget(client->bus, &identity);
                return bus_producer_new(ret, client, &identity, name, &arguments->options);
        }
        r = bus_away_return(away, client);
        if (r == 0)
                *ret = away;
        return r;
}

/* A source that was offered again is another object by now. */
static void withdraw_missing_sources(BusProducer *producer) {
        for (size_t i = producer_n_sources(producer->producer); i > 0; i--) {
                const char *name = producer_source_name(producer->producer, i - 1);

                if (!producer_source_is_restored(producer->producer, i - 1))
                        continue;
                bus_source_withdraw(producer, name);
                producer_remove_source(producer->producer, name, bus_now(producer->bus));
        }
}

/* It continues where it was, once all its sources are known. */
static void resume_producer(BusProducer *producer, const ProducerArguments *arguments) {
        withdraw_missing_sources(producer);
        producer_return(producer->producer,
                        arguments->instances,
                        arguments->n_instances / sizeof(uint64_t),
                        bus_now(producer->bus));
}

int bus_method_register_producer(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(bus_producer_freep) BusProducer *producer = NULL;
        ProducerArguments arguments = { .options = { .is_native = true }, .proof_fd = -1 };
        Bus *bus = userdata;
        const char *name;
        int r;

        if (bus->caller->producer)
                return bus_error_set(
                        error,
                        BUS_ERROR_WRONG_STATE,
                        "this connection is already a producer; use RegisterDataSource()");
        r = read_producer_options(message, &arguments, error);
        if (r < 0)
                return r;
        r = sd_bus_message_read(message, "s", &name);
        if (r < 0)
                return r;
        r = obtain_producer(&producer, bus->caller, name, &arguments);
        if (r)
                return bus_error_set_producer(error, name, r);
        producer->has_other_pids = has_other_pids(&arguments);
        r = read_sources(producer, message, error);
        if (r < 0)
                return r;
        r = sd_bus_reply_method_return(message, "o", producer->path);
        if (r < 0)
                return r;
        if (producer->is_announced)
                resume_producer(producer, &arguments);
        else
                bus_emit_producer_added(producer);
        producer->is_announced = true;
        bus->caller->producer = TAKE(producer);
        return 1;
}

static int check_producer(Bus *bus, sd_bus_error *error) {
        if (bus->caller->producer)
                return 0;
        return bus_error_set(error,
                             BUS_ERROR_NOT_A_PRODUCER,
                             "this connection is not a producer; call RegisterProducer() first");
}

int bus_method_register_source(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Bus *bus = userdata;
        int r;

        r = check_producer(bus, error);
        if (r >= 0)
                r = check_values(message, 2, error);
        if (r < 0)
                return r;
        r = read_source(bus->caller->producer, message, error);
        if (r < 0)
                return r;
        bus_producer_sources_changed(bus->caller->producer);
        return sd_bus_reply_method_return(message, "");
}

int bus_method_unregister_source(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Bus *bus = userdata;
        const char *name;
        int r;

        r = check_producer(bus, error);
        if (r < 0)
                return r;
        r = sd_bus_message_read(message, "s", &name);
        if (r < 0)
                return r;
        r = producer_remove_source(bus->caller->producer->producer, name, bus_now(bus));
        if (r)
                return bus_error_set_producer(error, name, r);
        bus_source_withdraw(bus->caller->producer, name);
        bus_producer_sources_changed(bus->caller->producer);
        return sd_bus_reply_method_return(message, "");
}

int bus_method_add_notes(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Bus *bus = userdata;
        uint64_t instance;
        const char *text;
        int r;

        r = check_producer(bus, error);
        if (r < 0)
                return r;
        r = sd_bus_message_read(message, "t", &instance);
        if (r >= 0)
                r = sd_bus_message_enter_container(message, 'a', "s");
        if (r < 0)
                return r;
        for (unsigned i = 0;
             i < INSTANCE_NOTES_MAX && (r = sd_bus_message_read(message, "s", &text)) > 0;
             i++)
                producer_source_note(bus->caller->producer->producer, instance, text, bus_now(bus));
        return r < 0 ? r : sd_bus_reply_method_return(message, "");
}
