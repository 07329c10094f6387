/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a producer offers, and is charged for. */

#include <errno.h>

#include "core/model/policy.h"
#include "core/model/producer.h"
#include "core/model/service-limits.h"
#include "core/model/service.h"
#include "shared/error.h"
#include "shared/utf8.h"
#include "wire/wire-reader.h"

/* Fields of perfetto.protos.DataSourceDescriptor. */
enum {
        DESCRIPTOR_NAME = 1,
        DESCRIPTOR_WILL_NOTIFY_ON_STOP = 2,
        DESCRIPTOR_WILL_NOTIFY_ON_START = 3,
        DESCRIPTOR_HANDLES_CLEAR = 4,
        DESCRIPTOR_NO_FLUSH = 9,
};

/* Printable ASCII without spaces at least at its ends: it goes into lists, logs and regular expressions. */
bool name_is_valid(const char *name, size_t max) {
        size_t n = strnlen(name, max + 1);

        if (n == 0 || n > max)
                return false;
        for (size_t i = 0; i < n; i++)
                if (name[i] < ' ' || name[i] > '~')
                        return false;
        return true;
}

ProducerSource *source_free(ProducerSource *source) {
        if (!source)
                return NULL;
        charge_deinit(&source->charge);
        bytes_deinit(&source->descriptor);
        strings_free(source->categories);
        free(source->unavailable);
        free(source->name);
        free(source);
        return NULL;
}

static void source_read_flag(ProducerSource *source, const WireField *field) {
        switch (field->number) {
        case DESCRIPTOR_WILL_NOTIFY_ON_STOP:
                source->tells_stop |= field->value != 0;
                break;
        case DESCRIPTOR_WILL_NOTIFY_ON_START:
                source->tells_start |= field->value != 0;
                break;
        case DESCRIPTOR_HANDLES_CLEAR:
                source->clears_state = field->value;
                break;
        case DESCRIPTOR_NO_FLUSH:
                source->no_flush |= field->value != 0;
                break;
        }
}

/* Takes from the descriptor what the service acts on; false when the bytes are no descriptor of this source. */
static bool source_read_descriptor(ProducerSource *source, const void *descriptor, size_t n) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, descriptor, n);
        while ((r = wire_read(&reader, &field)) > 0) {
                if (field.number == DESCRIPTOR_NAME &&
                    (field.type != WIRE_BYTES || field.n_bytes != strlen(source->name) ||
                     memcmp(field.data, source->name, field.n_bytes) != 0))
                        return false;
                if (field.type == WIRE_VARINT)
                        source_read_flag(source, &field);
        }
        return r == 0;
}

/* false: it declares what its producer may not write. */
static bool source_declare_fields(ProducerSource *source,
                                  const Producer *producer,
                                  const SourceOptions *options) {
        const bool is_system =
                policy_is_system_producer(&producer->service->info, &producer->identity);
        uint32_t field;

        if (options->packet_fields)
                return packet_rules_declare(&source->rules,
                                            is_system,
                                            options->packet_fields,
                                            options->n_packet_fields,
                                            &field);
        source->rules = *packet_rules_default(is_system);
        return true;
}

/* What a source is charged for: roughly what it makes the service keep. */
static uint64_t source_options_bytes(const SourceOptions *options) {
        uint64_t n = sizeof(ProducerSource) + options->n_descriptor;

        for (size_t i = 0; options->categories && options->categories[i]; i++)
                n += strlen(options->categories[i]) + sizeof(char *) + 1;
        if (options->unavailable)
                n += strnlen(options->unavailable, SOURCE_UNAVAILABLE_MAX);
        return n;
}

static int source_copy_texts(ProducerSource *source, const SourceOptions *options) {
        if (options->categories) {
                source->categories = strings_copy(options->categories);
                if (!source->categories)
                        return -ENOMEM;
        }
        if (options->unavailable && options->unavailable[0]) {
                source->unavailable = utf8_copy_line(options->unavailable, SOURCE_UNAVAILABLE_MAX);
                if (!source->unavailable)
                        return -ENOMEM;
        }
        return 0;
}

int source_new(ProducerSource **ret,
               const Producer *producer,
               const char *name,
               const SourceOptions *options) {
        _cleanup_(source_freep) ProducerSource *source = NULL;
        uint64_t n_bytes = source_options_bytes(options);
        int r;

        if (n_bytes > SOURCE_DESCRIPTOR_BYTES_MAX || options->n_packet_fields > PACKET_FIELDS_MAX)
                return PRODUCER_E_LIMIT;
        source = calloc(1, sizeof(*source));
        if (!source)
                return -ENOMEM;
        source->name = strdup(name);
        if (!source->name)
                return -ENOMEM;

        r = quota_charge(&producer->service->quota,
                         &source->charge,
                         producer->user,
                         QUOTA_DESCRIPTOR_BYTES,
                         n_bytes);
        if (r)
                return r == QUOTA_E_EXCEEDED ? PRODUCER_E_LIMIT : error_fold(r);

        if (!source_declare_fields(source, producer, options))
                return PRODUCER_E_FIELD;
        source->no_flush = options->no_flush;
        /* Without a descriptor nothing was said; native sources always answer, and ignore what they have no use for. */
        source->tells_start = source->tells_stop =
                producer->options.is_native || !options->descriptor;
        source->clears_state = !options->descriptor && producer->options.is_native;
        if (options->descriptor &&
            !source_read_descriptor(source, options->descriptor, options->n_descriptor))
                return PRODUCER_E_INVALID;
        if (source_copy_texts(source, options) < 0 ||
            bytes_append(&source->descriptor, options->descriptor, options->n_descriptor) < 0)
                return -ENOMEM;
        *ret = TAKE(source);
        return 0;
}
