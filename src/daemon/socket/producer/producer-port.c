/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A connection begins with InitializeConnection, without which nothing else is heard, and nearly at once asks for
 * commands, with a call that is answered again and again. All other calls need no answer, or an empty one.
 */

#include <errno.h>

#include "closer/closer.h"
#include "core/trigger.h"
#include "producer-port-private.h"
#include "producer-port.h"
#include "shared/utf8.h"
#include "wire/wire-reader.h"
#include "wire/wire-writer.h"

/* Fields of perfetto.protos.InitializeConnectionRequest and of its response. */
enum {
        INITIALIZE_PAGE_BYTES = 1,
        INITIALIZE_MEMORY_BYTES = 2,
        INITIALIZE_NAME = 3,
        INITIALIZE_SCRAPING = 4,
        INITIALIZE_BRINGS_MEMORY = 6,
        INITIALIZE_SDK_VERSION = 8,

        INITIALIZED_USES_ITS_MEMORY = 1,
        INITIALIZED_DIRECT_PATCHING = 2,
        INITIALIZED_EMULATION = 3,
};

#define SCRAPING_DISABLED 2

typedef struct Initialize {
        uint64_t page_bytes, memory_bytes, scraping;
        bool brings_memory;
        char name[PRODUCER_NAME_MAX + 1];
        char version[PRODUCER_VERSION_MAX + 1];
} Initialize;

/* Clients mostly send their program's name, which may be anything; a producer's name is a short line of ASCII. */
static void copy_name(char *to, size_t n_max, const WireField *field) {
        size_t n = MIN(field->n_bytes, n_max);

        for (size_t i = 0; i < n; i++)
                to[i] = field->data[i] >= ' ' && field->data[i] <= '~' ? (char)field->data[i] : '?';
        to[n] = 0;
}

static int initialize_read(Initialize *ret, const void *data, size_t n) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, data, n);
        while ((r = wire_read(&reader, &field)) > 0) {
                if (field.type == WIRE_BYTES && field.number == INITIALIZE_NAME)
                        copy_name(ret->name, PRODUCER_NAME_MAX, &field);
                if (field.type == WIRE_BYTES && field.number == INITIALIZE_SDK_VERSION)
                        copy_name(ret->version, PRODUCER_VERSION_MAX, &field);
                if (field.type != WIRE_VARINT)
                        continue;
                if (field.number == INITIALIZE_PAGE_BYTES)
                        ret->page_bytes = (uint32_t)field.value;
                if (field.number == INITIALIZE_MEMORY_BYTES)
                        ret->memory_bytes = (uint32_t)field.value;
                if (field.number == INITIALIZE_SCRAPING)
                        ret->scraping = field.value;
                if (field.number == INITIALIZE_BRINGS_MEMORY)
                        ret->brings_memory = field.value;
        }
        return r;
}

static const char *refusal(int outcome) {
        switch (outcome) {
        case PRODUCER_E_LIMIT:
                return "there are too many producers, or of its user: "
                       "SERVICE_PRODUCERS_PER_USER_MAX";
        case PRODUCER_E_LOCKDOWN:
                return "only the system's own producers may come now: lockdown_mode";
        default:
                return "its name is not valid";
        }
}

static int initialize_producer(ProducerPort *port, const Initialize *initialize) {
        const ProducerOptions options = {
                .memory_bytes = initialize->memory_bytes,
                .page_bytes = (uint32_t)initialize->page_bytes,
                .is_not_scanned = initialize->scraping == SCRAPING_DISABLED,
                .version = initialize->version,
        };
        int r;

        r = producer_new(&port->producer,
                         port_connection_service(port->connection),
                         port_connection_identity(port->connection),
                         initialize->name[0] ? initialize->name : "unnamed",
                         &options,
                         &producer_port_ops,
                         port);
        if (r == 0)
                return 0;
        return r < 0 ? r : port_refuse(port->connection, "%s", refusal(r));
}

static void port_observe(ProducerPort *port) {
        const PortsObserver *observer;
        void *userdata;

        observer = port_connection_observer(port->connection, &userdata);
        port->observed = observer ? observer->producer_came(userdata, port->producer) : NULL;
        port->observer = port->observed ? observer : NULL;
}

int producer_on_initialize(void *userdata, const PortRequest *request, const void *data, size_t n) {
        ProducerPort *port = userdata;
        Initialize initialize = {};
        uint8_t reply[3 * (WIRE_TAG_MAX + WIRE_VARINT_MAX)];
        bool uses_its_memory;
        WireWriter writer;
        int fd, r;

        if (port->producer)
                return port_refuse(port->connection, "the connection is initialized already");
        if (initialize_read(&initialize, data, n) < 0)
                return port_refuse(port->connection, "it cannot be decoded");
        r = initialize_producer(port, &initialize);
        if (r)
                return r;
        port_observe(port);
        fd = port_connection_take_fd(port->connection);
        uses_its_memory = initialize.brings_memory && fd >= 0 &&
                          producer_bring_memory(port, fd, initialize.page_bytes);
        closer_close(port_connection_user(port->connection), fd);
        wire_writer_init(&writer, reply, sizeof(reply));
        wire_put_bool(&writer, INITIALIZED_USES_ITS_MEMORY, uses_its_memory);
        wire_put_bool(&writer, INITIALIZED_DIRECT_PATCHING, true);
        wire_put_bool(&writer, INITIALIZED_EMULATION, false);
        port_reply(port->connection, request, false, reply, wire_writer_size(&writer));
        return 0;
}

/*
 * Calls of one line
 */

static int
on_register_writer(void *userdata, const PortRequest *request, const void *data, size_t n) {
        const ProducerPort *port = userdata;
        uint64_t numbers[] = { 0, /* writer_id */ 0, /* target_buffer */ 0 };
        int r;

        r = producer_read_call(port, data, n, numbers, ARRAY_SIZE(numbers));
        if (r)
                return r;
        producer_register_writer(port->producer, (uint32_t)numbers[1], (uint32_t)numbers[2]);
        producer_reply_done(port, request);
        return 0;
}

static int
on_unregister_writer(void *userdata, const PortRequest *request, const void *data, size_t n) {
        const ProducerPort *port = userdata;
        uint64_t numbers[] = { 0, /* writer_id */ 0 };
        int r;

        r = producer_read_call(port, data, n, numbers, ARRAY_SIZE(numbers));
        if (r)
                return r;
        producer_register_writer(port->producer, (uint32_t)numbers[1], 0);
        producer_reply_done(port, request);
        return 0;
}

/* An instance's number alone. */
static int answer_instance(ProducerPort *port,
                           const PortRequest *request,
                           const void *data,
                           size_t n,
                           void (*answer)(Producer *, uint64_t, uint64_t)) {
        uint64_t numbers[] = { 0, /* data_source_id */ 0 };
        int r;

        r = producer_read_call(port, data, n, numbers, ARRAY_SIZE(numbers));
        if (r)
                return r;
        answer(port->producer, numbers[1], port_connection_now(port->connection));
        producer_reply_done(port, request);
        return 0;
}

static int on_source_started(void *port, const PortRequest *request, const void *data, size_t n) {
        return answer_instance(port, request, data, n, producer_source_started);
}

static int on_source_stopped(void *port, const PortRequest *request, const void *data, size_t n) {
        return answer_instance(port, request, data, n, producer_source_stopped);
}

/* Whether the name was short enough; the caller frees it. */
static bool trigger_copy(char **ret, const WireField *field) {
        if (field->n_bytes == 0 || field->n_bytes > TRIGGER_NAME_MAX ||
            memchr(field->data, 0, field->n_bytes))
                return false;
        *ret = strndup((const char *)field->data, field->n_bytes);
        return *ret;
}

typedef struct TriggerNames {
        char *names[PRODUCER_TRIGGERS_MAX];
        size_t n;
        bool is_incomplete; /* some are not valid, or too many */
} TriggerNames;

static int read_triggers(TriggerNames *ret, const void *data, size_t n) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, data, n);
        while ((r = wire_read(&reader, &field)) > 0) {
                if (field.number != 1 || field.type != WIRE_BYTES)
                        continue;
                if (ret->n < PRODUCER_TRIGGERS_MAX && trigger_copy(&ret->names[ret->n], &field))
                        ret->n++;
                else
                        ret->is_incomplete = true;
        }
        return r;
}

/* Returns 0, TRIGGER_E_LIMIT or -errno. */
static int send_triggers(const ProducerPort *port, const TriggerNames *triggers) {
        const TriggerSender sender = {
                .identity = *port_connection_identity(port->connection),
                .producer = producer_name(port->producer),
        };
        size_t n_sessions;

        return service_activate_triggers(port_connection_service(port->connection),
                                         &sender,
                                         (const char *const *)triggers->names,
                                         triggers->n,
                                         &n_sessions,
                                         port_connection_now(port->connection));
}

/* The valid triggers are sent, whatever is wrong with the others. */
static int
on_activate_triggers(void *userdata, const PortRequest *request, const void *data, size_t n) {
        ProducerPort *port = userdata;
        TriggerNames triggers = {};
        bool is_readable;
        int r = 0;

        if (!port->producer)
                return producer_not_initialized(port);
        is_readable = read_triggers(&triggers, data, n) == 0;
        if (is_readable)
                r = send_triggers(port, &triggers);
        for (size_t i = 0; i < triggers.n; i++)
                free(triggers.names[i]);
        if (!is_readable)
                return port_refuse(port->connection, "it cannot be decoded");
        if (r == TRIGGER_E_LIMIT)
                return port_refuse(port->connection,
                                   "its user sends too many triggers: TRIGGER_SENDS_RATE");
        if (r == 0 && triggers.is_incomplete)
                return port_refuse(port->connection,
                                   "some of the names are not valid, or too many: "
                                   "TRIGGER_NAME_MAX, PRODUCER_TRIGGERS_MAX");
        if (r == 0)
                producer_reply_done(port, request);
        return r;
}

/* All earlier calls have been carried out by now, and the requests that the service made because of them are on their
 * way. */
static int on_sync(void *userdata, const PortRequest *request, const void *data, size_t n) {
        const ProducerPort *port = userdata;

        if (!port->producer)
                return producer_not_initialized(port);
        producer_reply_done(port, request);
        return 0;
}

/* In the protocol's order. */
static const PortMethod producer_methods[] = {
        { "InitializeConnection", producer_on_initialize },
        { "RegisterDataSource", producer_on_register_source },
        { "UnregisterDataSource", producer_on_unregister_source },
        { "CommitData", producer_on_commit },
        { "GetAsyncCommand", producer_on_get_command },
        { "RegisterTraceWriter", on_register_writer },
        { "UnregisterTraceWriter", on_unregister_writer },
        { "NotifyDataSourceStarted", on_source_started },
        { "NotifyDataSourceStopped", on_source_stopped },
        { "ActivateTriggers", on_activate_triggers },
        { "Sync", on_sync },
        { "UpdateDataSource", producer_on_update_source },
};

static int producer_open(void **ret, PortConnection *connection) {
        ProducerPort *port = calloc(1, sizeof(*port));

        if (!port)
                return -ENOMEM;
        port->connection = connection;
        port->memory_fd = -1;
        list_init(&port->held);
        list_init(&port->unsent);
        list_init(&port->sources);
        *ret = port;
        return 0;
}

static void producer_close(void *userdata) {
        ProducerPort *port = userdata;

        if (port->observer)
                port->observer->producer_goes(port->observed);
        port->producer = producer_free(port->producer); /* still reads the memory */
        producer_commands_deinit(port);
        producer_sources_deinit(port);
        producer_drop_memory(port);
        free(port);
}

static void producer_work(void *userdata) {
        ProducerPort *port = userdata;

        producer_work_commands(port);
        if (!port->has_changed_sources)
                return;
        port->has_changed_sources = false;
        port->observer->sources_changed(port->observed);
}

const PortService producer_port = {
        .name = "ProducerPort",
        .methods = producer_methods,
        .n_methods = ARRAY_SIZE(producer_methods),
        .open = producer_open,
        .close = producer_close,
        .work = producer_work,
};
