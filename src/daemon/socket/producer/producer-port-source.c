/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The core reads descriptors. This file only looks up the name, the number, and the categories of track events, which
 * the service lists for people.
 */

#include <errno.h>
#include <inttypes.h>

#include "core/model/categories.h"
#include "producer-port-private.h"
#include "wire/wire-reader.h"
#include "wire/wire-writer.h"

/* Of perfetto.protos: what a request holds, and of what its parts are made. */
enum {
        REQUEST_DESCRIPTOR = 1, /* of RegisterDataSource and UpdateDataSource */
        REQUEST_NAME = 1,       /* of UnregisterDataSource */
        RESPONSE_ERROR = 1,     /* of RegisterDataSourceResponse */
        DESCRIPTOR_NAME = 1,
        DESCRIPTOR_ID = 7,
};

#define CATEGORIES_MAX 4096 /* of one source, that are listed */

/* The names of sources by number, for the one method that passes a number. */
typedef struct PortSource {
        List link;
        uint64_t id;
        char name[];
} PortSource;

typedef struct Descriptor {
        const uint8_t *data;
        size_t n;
        char name[SOURCE_NAME_MAX + 1];
        uint64_t id;
        char **categories;
        size_t n_categories, n_allocated;
} Descriptor;

static void descriptor_deinit(Descriptor *descriptor) {
        for (size_t i = 0; i < descriptor->n_categories; i++)
                free(descriptor->categories[i]);
        free(descriptor->categories);
}

/* A name that is too long becomes an empty one, which is not valid, either. */
static void read_name(char ret[static SOURCE_NAME_MAX + 1], const WireField *field) {
        if (field->n_bytes > SOURCE_NAME_MAX)
                return;
        memcpy(ret, field->data, field->n_bytes);
        ret[field->n_bytes] = 0;
}

/* Always with a NULL behind the last. */
static int add_category(void *userdata, const Category *category) {
        Descriptor *descriptor = userdata;
        size_t n_allocated = descriptor->n_allocated ? 2 * descriptor->n_allocated : 16;
        char **grown;

        if (descriptor->n_categories >= CATEGORIES_MAX)
                return 0;
        if (descriptor->n_categories + 1 >= descriptor->n_allocated) {
                grown = reallocarray(descriptor->categories, n_allocated, sizeof(*grown));
                if (!grown)
                        return -ENOMEM;
                descriptor->categories = grown;
                descriptor->n_allocated = n_allocated;
        }
        descriptor->categories[descriptor->n_categories] =
                strndup(category->name, category->n_name);
        if (!descriptor->categories[descriptor->n_categories])
                return -ENOMEM;
        descriptor->categories[++descriptor->n_categories] = NULL;
        return 0;
}

static int descriptor_read_fields(Descriptor *ret, const WireField *descriptor) {
        WireReader reader;
        WireField field;
        int r;

        ret->data = descriptor->data;
        ret->n = descriptor->n_bytes;
        wire_reader_init_field(&reader, descriptor);
        while ((r = wire_read(&reader, &field)) > 0) {
                if (field.number == DESCRIPTOR_NAME && field.type == WIRE_BYTES)
                        read_name(ret->name, &field);
                if (field.number == DESCRIPTOR_ID && field.type == WIRE_VARINT)
                        ret->id = field.value;
        }
        return r < 0 ? r : categories_read(ret->data, ret->n, add_category, ret);
}

/* Returns 0, PORT_E_REFUSED or -ENOMEM. The descriptor may have no valid name. */
static int
port_read_descriptor(const ProducerPort *port, Descriptor *ret, const void *data, size_t n) {
        WireField field, descriptor = {};
        WireReader reader;
        int r;

        if (!port->producer)
                return producer_not_initialized(port);
        wire_reader_init(&reader, data, n);
        while ((r = wire_read(&reader, &field)) > 0)
                if (field.number == REQUEST_DESCRIPTOR && field.type == WIRE_BYTES)
                        descriptor = field;
        if (r < 0 || !descriptor.data)
                return port_refuse(port->connection, "it has no descriptor that can be decoded");
        r = descriptor_read_fields(ret, &descriptor);
        if (r == -EBADMSG)
                return port_refuse(
                        port->connection, "the descriptor of \"%s\" cannot be decoded", ret->name);
        return r;
}

static PortSource *port_find_source(const ProducerPort *port, const char *name) {
        PortSource *source;

        list_for_each (source, &port->sources, link)
                if (streq(source->name, name))
                        return source;
        return NULL;
}

static void port_forget_source(const ProducerPort *port, const char *name) {
        PortSource *source = port_find_source(port, name);

        if (!source)
                return;
        list_unlink(&source->link);
        free(source);
}

/* The core has it, so there are no more of them than a producer may have. */
static int port_remember_source(ProducerPort *port, const Descriptor *descriptor) {
        PortSource *source;

        port_forget_source(port, descriptor->name);
        if (descriptor->id == 0)
                return 0;
        source = calloc(1, sizeof(*source) + strlen(descriptor->name) + 1);
        if (!source)
                return -ENOMEM;
        source->id = descriptor->id;
        memcpy(source->name, descriptor->name, strlen(descriptor->name));
        list_append(&port->sources, &source->link);
        return 0;
}

void producer_sources_deinit(ProducerPort *port) {
        PortSource *source;

        list_for_each (source, &port->sources, link)
                free(source);
        list_init(&port->sources);
}

static const char *refusal(int outcome) {
        switch (outcome) {
        case PRODUCER_E_RESERVED:
                return "its name is for the system's own producers";
        case PRODUCER_E_LIMIT:
                return "it is one too many, or too large: PRODUCER_SOURCES_MAX, "
                       "SOURCE_DESCRIPTOR_BYTES_MAX, SERVICE_DESCRIPTOR_BYTES_PER_USER_MAX";
        default:
                return "its name or its descriptor is not valid";
        }
}

static int port_offer(ProducerPort *port, const Descriptor *descriptor) {
        const SourceOptions options = {
                .descriptor = descriptor->data,
                .n_descriptor = descriptor->n,
                .categories = (const char *const *)descriptor->categories,
        };
        int r;

        r = producer_add_source(
                port->producer, descriptor->name, &options, port_connection_now(port->connection));
        if (r == 0)
                producer_source_came(port, descriptor->name);
        return r;
}

/* A refusal is sent as a success with the reason: clients take a failure for the end of the connection. */
static void reply_refusal(ProducerPort *port,
                          const PortRequest *request,
                          const Descriptor *descriptor,
                          int outcome) {
        uint8_t reply[256];
        WireWriter writer;

        port_connection_log(
                port->connection, "it cannot offer \"%s\": %s", descriptor->name, refusal(outcome));
        wire_writer_init(&writer, reply, sizeof(reply));
        wire_put_string(&writer, RESPONSE_ERROR, refusal(outcome));
        port_reply(port->connection, request, false, reply, wire_writer_size(&writer));
}

int producer_on_register_source(void *userdata,
                                const PortRequest *request,
                                const void *data,
                                size_t n) {
        _cleanup_(descriptor_deinit) Descriptor descriptor = {};
        ProducerPort *port = userdata;
        int r;

        r = port_read_descriptor(port, &descriptor, data, n);
        if (r)
                return r;
        r = port_offer(port, &descriptor);
        if (r == 0)
                r = port_remember_source(port, &descriptor);
        if (r < 0)
                return r;
        if (r > 0)
                reply_refusal(port, request, &descriptor, r);
        else
                producer_reply_done(port, request);
        return 0;
}

/* Only if it was registered with this number and name. */
int producer_on_update_source(void *userdata,
                              const PortRequest *request,
                              const void *data,
                              size_t n) {
        _cleanup_(descriptor_deinit) Descriptor descriptor = {};
        ProducerPort *port = userdata;
        const PortSource *source;
        int r;

        r = port_read_descriptor(port, &descriptor, data, n);
        if (r)
                return r;
        source = port_find_source(port, descriptor.name);
        if (!source || source->id != descriptor.id)
                return port_refuse(port->connection,
                                   "it has not registered \"%s\" as number %" PRIu64,
                                   descriptor.name,
                                   descriptor.id);
        r = port_offer(port, &descriptor);
        if (r > 0)
                return port_refuse(port->connection,
                                   "\"%s\" stays as it was: %s",
                                   descriptor.name,
                                   refusal(r));
        if (r < 0)
                return r;
        producer_reply_done(port, request);
        return 0;
}

int producer_on_unregister_source(void *userdata,
                                  const PortRequest *request,
                                  const void *data,
                                  size_t n) {
        char name[SOURCE_NAME_MAX + 1] = "";
        ProducerPort *port = userdata;
        WireReader reader;
        WireField field;
        int r;

        if (!port->producer)
                return producer_not_initialized(port);
        wire_reader_init(&reader, data, n);
        while ((r = wire_read(&reader, &field)) > 0)
                if (field.number == REQUEST_NAME && field.type == WIRE_BYTES)
                        read_name(name, &field);
        if (r < 0)
                return port_refuse(port->connection, "it cannot be decoded");
        port_forget_source(port, name);
        r = producer_remove_source(port->producer, name, port_connection_now(port->connection));
        if (r)
                return port_refuse(port->connection, "it does not offer \"%s\"", name);
        producer_source_went(port, name);
        producer_reply_done(port, request);
        return 0;
}
