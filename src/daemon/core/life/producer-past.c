/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The past of a producer, in the wire format: a field that a later version adds is skipped. */

#include <errno.h>

#include "core/life/producer-past.h"
#include "core/model/bytes-writer.h"
#include "core/model/producer.h"
#include "core/model/session.h"
#include "shared/hash.h"
#include "wire/wire-reader.h"

enum {
        PAST_ID = 1,
        PAST_ORIGIN_ID,
        PAST_UID,
        PAST_PID,
        PAST_NAME,
        PAST_PAGES_BYTES,
        PAST_PAGE_BYTES,
        PAST_N_MEMORIES,
        PAST_LAST_INSTANCE_ID,
        PAST_N_LOST,
        PAST_N_SAID,
        PAST_LOOKED_AT,
        PAST_INSTANCE,
};

enum {
        INSTANCE_ID = 1,
        INSTANCE_SESSION,
        INSTANCE_SOURCE,
        INSTANCE_BUFFER,
        INSTANCE_STATE,
        INSTANCE_DROPPED_BEFORE,
};

uint64_t producer_past_revision(const Producer *producer) {
        uint64_t revision = hash_add(HASH_BASIS, producer->n_memories);
        const SourceInstance *instance;

        list_for_each (instance, &producer->instances, producer_link) {
                if (!instance_can_be_left(instance)) /* it may be later, when its session is */
                        continue;
                revision = hash_add(revision, instance->id);
                revision = hash_add(revision, instance->state);
        }
        return revision;
}

/*
 * Written
 */

static void put_instance(WireWriter *writer, const SourceInstance *instance) {
        const size_t begin = wire_begin(writer, PAST_INSTANCE);

        wire_put_uint(writer, INSTANCE_ID, instance->id);
        wire_put_uint(writer, INSTANCE_SESSION, instance->session->id);
        wire_put_uint(writer, INSTANCE_SOURCE, instance->source->index);
        wire_put_uint(writer, INSTANCE_BUFFER, instance->buffer->id);
        wire_put_uint(writer, INSTANCE_STATE, instance->state);
        wire_put_uint(writer, INSTANCE_DROPPED_BEFORE, instance->dropped_before);
        wire_end(writer, begin);
}

int producer_put_past(const Producer *producer, Bytes *out) {
        const SourceInstance *instance;
        WireWriter writer;

        bytes_writer_init(&writer, out);
        wire_put_uint(&writer, PAST_ID, producer->id);
        wire_put_uint(&writer, PAST_ORIGIN_ID, producer->origin_id);
        wire_put_uint(&writer, PAST_UID, producer->identity.uid);
        wire_put_uint(&writer, PAST_PID, (uint64_t)producer->identity.pid);
        wire_put_string(&writer, PAST_NAME, producer->name);
        wire_put_uint(&writer,
                      PAST_PAGES_BYTES,
                      (uint64_t)producer->area.n_pages * producer->area.page_bytes);
        wire_put_uint(&writer, PAST_PAGE_BYTES, producer->area.page_bytes);
        wire_put_uint(&writer, PAST_N_MEMORIES, producer->n_memories);
        wire_put_uint(&writer, PAST_LAST_INSTANCE_ID, producer->last_instance_id);
        wire_put_uint(&writer, PAST_N_LOST, producer->losses.n);
        wire_put_uint(&writer, PAST_N_SAID, producer->losses.n_said);
        wire_put_uint(&writer, PAST_LOOKED_AT, producer->losses.looked_at);
        list_for_each (instance, &producer->instances, producer_link)
                if (instance_can_be_left(instance))
                        put_instance(&writer, instance);
        return bytes_writer_finish_within(&writer, out, PRODUCER_PAST_BYTES_MAX);
}

/*
 * Read
 */

static int take_instance(ProducerPast *past, const WireField *from) {
        InstancePast *grown, instance = {};
        uint64_t *const values[] = {
                [INSTANCE_ID] = &instance.id,
                [INSTANCE_SESSION] = &instance.session,
                [INSTANCE_SOURCE] = &instance.source,
                [INSTANCE_BUFFER] = &instance.buffer,
                [INSTANCE_STATE] = &instance.state,
                [INSTANCE_DROPPED_BEFORE] = &instance.dropped_before,
        };
        WireReader reader;
        WireField field;
        int r;

        if (from->type != WIRE_BYTES)
                return -EBADMSG;
        wire_reader_init_field(&reader, from);
        while ((r = wire_read(&reader, &field)) > 0)
                if (field.number < ARRAY_SIZE(values) && values[field.number])
                        *values[field.number] = field.value;
        if (r < 0)
                return r;
        grown = reallocarray(past->instances, past->n_instances + 1, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        past->instances = grown;
        past->instances[past->n_instances++] = instance;
        return 0;
}

static int take_name(ProducerPast *past, const WireField *field) {
        if (field->type != WIRE_BYTES || field->n_bytes >= sizeof(past->name))
                return -EBADMSG;
        memcpy(past->name, field->data, field->n_bytes);
        past->name[field->n_bytes] = 0;
        return 0;
}

static int take_field(ProducerPast *past, const WireField *field) {
        uint64_t *const values[] = {
                [PAST_ID] = &past->id,
                [PAST_ORIGIN_ID] = &past->origin_id,
                [PAST_PAGES_BYTES] = &past->pages_bytes,
                [PAST_PAGE_BYTES] = &past->page_bytes,
                [PAST_N_MEMORIES] = &past->n_memories,
                [PAST_LAST_INSTANCE_ID] = &past->last_instance_id,
                [PAST_N_LOST] = &past->n_lost,
                [PAST_N_SAID] = &past->n_said,
                [PAST_LOOKED_AT] = &past->looked_at,
        };

        if (field->number == PAST_INSTANCE)
                return take_instance(past, field);
        if (field->number == PAST_NAME)
                return take_name(past, field);
        if (field->number == PAST_UID)
                past->identity.uid = (uid_t)field->value;
        else if (field->number == PAST_PID)
                past->identity.pid = (pid_t)field->value;
        else if (field->number < ARRAY_SIZE(values) && values[field->number])
                *values[field->number] = field->value;
        return 0;
}

int producer_past_read(ProducerPast *ret, const void *data, size_t n_bytes) {
        WireReader reader;
        WireField field;
        int r;

        *ret = (ProducerPast){};
        if (n_bytes > PRODUCER_PAST_BYTES_MAX)
                return -EBADMSG;
        wire_reader_init(&reader, data, n_bytes);
        while ((r = wire_read(&reader, &field)) > 0) {
                r = take_field(ret, &field);
                if (r < 0)
                        return r;
        }
        return r;
}

void producer_past_deinit(ProducerPast *past) {
        free(past->instances);
        *past = (ProducerPast){};
}
