/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A connection begins with InitializeConnection, without which nothing else is heard, and nearly at once asks for
 * commands, with a call that is answered again and again. What else it says needs no answer, or an empty one.
 */

#include <errno.h>

#include "core/trigger.h"
#include "producer-port-private.h"
#include "producer-port.h"
#include "shared/fd.h"
#include "shared/log.h"
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

void producer_reply_done(const ProducerPort *port, const PortRequest *request) {
        port_reply(port->connection, request, false, NULL, 0);
}

void producer_complain(ProducerPort *port, const char *about) {
        log_at(port->has_complained ? LOG_DEBUG : LOG_NOTICE,
               "%s: %s",
               port_connection_describe(port->connection),
               about);
        port->has_complained = true;
}

bool producer_read_numbers(const void *data, size_t n, uint64_t *ret, size_t n_fields) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, data, n);
        while ((r = wire_read(&reader, &field)) > 0)
                if (field.type == WIRE_VARINT && field.number < n_fields)
                        ret[field.number] = field.value;
        return r == 0;
}

/* What it is called is mostly a program's name, which may be anything; producers' names are short lines of ASCII. */
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
                       "SERVICE_PRODUCERS_PER_UID_MAX";
        case PRODUCER_E_LOCKDOWN:
                return "only the system's own producers may come now: lockdown_mode";
        default:
                return outcome < 0 ? strerror(-outcome) : "its name is none";
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
        log_notice("%s cannot be a producer: %s",
                   port_connection_describe(port->connection),
                   refusal(r));
        return r < 0 ? r : PORT_E_REFUSED;
}

static void port_observe(ProducerPort *port) {
        const PortsObserver *observer;
        void *userdata;

        observer = port_connection_observer(port->connection, &userdata);
        port->observed = observer ? observer->producer_came(userdata, port->producer) : NULL;
        port->observer = port->observed ? observer : NULL;
}

void producer_source_came(ProducerPort *port, const char *source) {
        if (!port->observer)
                return;
        port->observer->source_came(port->observed, source);
        port->has_changed_sources = true;
        port_connection_mark(port->connection);
}

void producer_source_went(ProducerPort *port, const char *source) {
        if (!port->observer)
                return;
        port->observer->source_went(port->observed, source);
        port->has_changed_sources = true;
        port_connection_mark(port->connection);
}

int producer_on_initialize(void *userdata, const PortRequest *request, const void *data, size_t n) {
        ProducerPort *port = userdata;
        _cleanup_(fd_closep) int fd = port_connection_take_fd(port->connection);
        Initialize initialize = {};
        uint8_t reply[3 * (WIRE_TAG_MAX + WIRE_VARINT_MAX)];
        bool uses_its_memory;
        WireWriter writer;
        int r;

        if (port->producer || initialize_read(&initialize, data, n) < 0)
                return PORT_E_REFUSED;
        r = initialize_producer(port, &initialize);
        if (r)
                return r;
        port_observe(port);
        uses_its_memory = initialize.brings_memory && fd >= 0 &&
                          producer_bring_memory(port, fd, initialize.page_bytes);
        wire_writer_init(&writer, reply, sizeof(reply));
        wire_put_bool(&writer, INITIALIZED_USES_ITS_MEMORY, uses_its_memory);
        wire_put_bool(&writer, INITIALIZED_DIRECT_PATCHING, true);
        wire_put_bool(&writer, INITIALIZED_EMULATION, false);
        port_reply(port->connection, request, false, reply, wire_writer_size(&writer));
        return 0;
}

/*
 * What is said in a line
 */

static int
on_register_writer(void *userdata, const PortRequest *request, const void *data, size_t n) {
        const ProducerPort *port = userdata;
        uint64_t numbers[] = { 0, /* writer_id */ 0, /* target_buffer */ 0 };

        if (!port->producer || !producer_read_numbers(data, n, numbers, ARRAY_SIZE(numbers)))
                return PORT_E_REFUSED;
        producer_register_writer(port->producer, (uint32_t)numbers[1], (uint32_t)numbers[2]);
        producer_reply_done(port, request);
        return 0;
}

static int
on_unregister_writer(void *userdata, const PortRequest *request, const void *data, size_t n) {
        const ProducerPort *port = userdata;
        uint64_t numbers[] = { 0, /* writer_id */ 0 };

        if (!port->producer || !producer_read_numbers(data, n, numbers, ARRAY_SIZE(numbers)))
                return PORT_E_REFUSED;
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

        if (!port->producer || !producer_read_numbers(data, n, numbers, ARRAY_SIZE(numbers)))
                return PORT_E_REFUSED;
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

/* Whether the name was short enough to be one; it is the callee's to free. */
static bool trigger_copy(char **ret, const WireField *field) {
        if (field->n_bytes == 0 || field->n_bytes > TRIGGER_NAME_MAX ||
            memchr(field->data, 0, field->n_bytes))
                return false;
        *ret = strndup((const char *)field->data, field->n_bytes);
        return *ret;
}

static int read_triggers(char **ret, size_t *ret_n, const void *data, size_t n) {
        WireReader reader;
        WireField field;
        size_t n_names = 0;
        int r;

        wire_reader_init(&reader, data, n);
        while ((r = wire_read(&reader, &field)) > 0)
                if (field.number == 1 && field.type == WIRE_BYTES &&
                    n_names < PRODUCER_TRIGGERS_MAX && trigger_copy(&ret[n_names], &field))
                        n_names++;
        *ret_n = n_names;
        return r;
}

/* Who sends more than it may is not heard; the protocol has no way to say so. */
static int
on_activate_triggers(void *userdata, const PortRequest *request, const void *data, size_t n) {
        ProducerPort *port = userdata;
        char *names[PRODUCER_TRIGGERS_MAX];
        size_t n_names = 0, n_sessions;
        TriggerSender sender;
        int r;

        if (!port->producer)
                return PORT_E_REFUSED;
        sender = (TriggerSender){
                .identity = *port_connection_identity(port->connection),
                .producer = producer_name(port->producer),
        };
        r = read_triggers(names, &n_names, data, n);
        if (r == 0)
                r = service_activate_triggers(port_connection_service(port->connection),
                                              &sender,
                                              (const char *const *)names,
                                              n_names,
                                              &n_sessions,
                                              port_connection_now(port->connection));
        else
                r = PORT_E_REFUSED;
        for (size_t i = 0; i < n_names; i++)
                free(names[i]);
        if (r == TRIGGER_E_LIMIT)
                producer_complain(port, "it sends too many triggers");
        if (r == 0)
                producer_reply_done(port, request);
        return r < 0 ? r : r ? PORT_E_REFUSED : 0;
}

/* What was said before is done by now, and what the service asked for because of it is on its way. */
static int on_sync(void *userdata, const PortRequest *request, const void *data, size_t n) {
        const ProducerPort *port = userdata;

        if (!port->producer)
                return PORT_E_REFUSED;
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
