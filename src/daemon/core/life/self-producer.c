/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The producer of desktrace.self: who has a writer (self-trace.c). */

#include <assert.h>
#include <errno.h>

#include "core/events/self-trace.h"
#include "core/life/producer-make.h"
#include "core/life/self-producer.h"
#include "core/model/session.h"
#include "core/requests/session-match.h"

static SelfWriter *find_writer(const List *writers, uint64_t instance) {
        SelfWriter *writer;

        list_for_each (writer, writers, link)
                if (writer->instance->id == instance)
                        return writer;
        return NULL;
}

static SourceInstance *self_find_instance(const SelfTrace *self, uint64_t id) {
        SourceInstance *instance;

        list_for_each (instance, &self->producer->instances, producer_link)
                if (instance->id == id)
                        return instance;
        return NULL;
}

/* There is a spare writer for each source of the session: self_trace_offer() has seen to that. */
static void
op_setup_source(void *peer, uint64_t id, const char *name, const void *config, size_t n_config) {
        SelfTrace *self = peer;
        SelfWriter *writer = list_first(&self->spares, SelfWriter, link);

        assert(writer);
        list_unlink(&writer->link);
        writer->instance = self_find_instance(self, id);
        list_append(&self->prepared, &writer->link);
}

/* The source does not answer (producer_new_builtin()), so the core does that in its place. */
static void op_start_source(void *peer, uint64_t id) {
        SelfTrace *self = peer;
        SelfWriter *writer = find_writer(&self->prepared, id);
        uint64_t now = self_now(self->service);
        const Session *session;

        list_unlink(&writer->link);
        writer->id = self->last_writer_id = self->last_writer_id % SMB_WRITER_MAX + 1;
        list_append(&self->writers, &writer->link);
        self->service->n_self_writers++;
        list_for_each (session, &self->service->sessions, link)
                if (writer_sees(writer, session))
                        writer_put_state(writer, now, session);
}

static SelfWriter *writer_free(SelfWriter *writer) {
        list_unlink(&writer->link);
        free(writer);
        return NULL;
}

static void op_stop_source(void *peer, uint64_t id) {
        SelfTrace *self = peer;
        SelfWriter *writer = find_writer(&self->writers, id);

        if (writer) {
                writer_commit(writer);
                self->service->n_self_writers--;
        } else {
                writer = find_writer(&self->prepared, id);
        }
        writer_free(writer);
}

static void op_clear_incremental_state(void *peer, const uint64_t *instances, size_t n_instances) {
        const SelfTrace *self = peer;

        for (size_t i = 0; i < n_instances; i++) {
                SelfWriter *writer = find_writer(&self->writers, instances[i]);

                if (writer)
                        writer->is_described = false;
        }
}

/* Its memory is not shared, and flushing is a drain. */
static const ProducerOps self_ops = {
        .setup_source = op_setup_source,
        .start_source = op_start_source,
        .stop_source = op_stop_source,
        .clear_incremental_state = op_clear_incremental_state,
};

static int self_trace_new(SelfTrace **ret, Service *service) {
        SelfTrace *self = calloc(1, sizeof(*self));
        int r;

        if (!self)
                return -ENOMEM;
        self->service = service;
        list_init(&self->spares);
        list_init(&self->prepared);
        list_init(&self->writers);
        r = producer_new_builtin(&self->producer, service, SERVICE_SELF_SOURCE, &self_ops, self);
        if (r) {
                free(self);
                return r;
        }
        *ret = self;
        return 0;
}

SelfTrace *self_trace_free(SelfTrace *self) {
        if (!self)
                return NULL;
        assert(list_is_empty(&self->spares));
        assert(list_is_empty(&self->prepared) && list_is_empty(&self->writers));
        producer_free(self->producer);
        free(self);
        return NULL;
}

static size_t session_n_self_sources(const Session *session) {
        size_t n = 0;

        for (size_t i = 0; i < session->n_sources; i++)
                n += streq(session->sources[i].pb->config->name, SERVICE_SELF_SOURCE);
        return n;
}

static void self_drop_spares(SelfTrace *self) {
        SelfWriter *writer;

        list_for_each (writer, &self->spares, link)
                writer_free(writer);
}

/* Returns 0 or -ENOMEM; then some may be there. */
static int self_make_spares(SelfTrace *self, size_t n) {
        for (size_t i = 0; i < n; i++) {
                SelfWriter *writer = calloc(1, sizeof(*writer));

                if (!writer)
                        return -ENOMEM;
                list_append(&self->spares, &writer->link);
        }
        return 0;
}

/* Without memory the source is missing, like one that nobody offers. */
void self_trace_offer(Session *session) {
        const size_t n = session_n_self_sources(session);
        Service *service = session->service;
        Producer *producer;

        if (n == 0 || (!service->self && self_trace_new(&service->self, service) != 0))
                return;
        producer = service->self->producer;
        if (self_make_spares(service->self, n) == 0)
                session_match_source(session, producer, producer->sources[0]);
        self_drop_spares(service->self); /* of instances that could not be made */
}
