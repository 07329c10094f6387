/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The producer of desktrace.self: who has a writer (self-trace.c). */

#include <errno.h>

#include "core/self-trace.h"
#include "core/session-private.h"

static SelfWriter *self_find_writer(const SelfTrace *self, uint64_t instance) {
        SelfWriter *writer;

        list_for_each (writer, &self->writers, link)
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

static void op_setup_source(void *peer,
                            uint64_t instance,
                            const char *name,
                            const void *config,
                            size_t n_config) {
}

/* Nobody needs to be waited for: the answers are given at once. */
static void op_start_source(void *peer, uint64_t id) {
        SelfTrace *self = peer;
        SourceInstance *instance = self_find_instance(self, id);
        SelfWriter *writer = calloc(1, sizeof(*writer));
        uint64_t now = self_now(self->service);
        const Session *session;

        if (!writer) {
                instance_stopped(instance, strerror(ENOMEM));
                return;
        }
        writer->instance = instance;
        writer->id = self->last_writer_id = self->last_writer_id % SMB_WRITER_MAX + 1;
        list_append(&self->writers, &writer->link);
        self->service->n_self_writers++;
        instance_started(instance);
        list_for_each (session, &self->service->sessions, link)
                if (writer_sees(writer, session))
                        writer_put_state(writer, now, session);
}

static void op_stop_source(void *peer, uint64_t id) {
        SelfTrace *self = peer;
        SourceInstance *instance = self_find_instance(self, id);
        SelfWriter *writer = self_find_writer(self, id);

        if (writer) {
                writer_commit(writer);
                list_unlink(&writer->link);
                self->service->n_self_writers--;
                free(writer);
        }
        instance_stopped(instance, NULL);
}

static void op_clear_incremental_state(void *peer, const uint64_t *instances, size_t n_instances) {
        for (size_t i = 0; i < n_instances; i++) {
                SelfWriter *writer = self_find_writer(peer, instances[i]);

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
        producer_free(self->producer);
        free(self);
        return NULL;
}

static bool session_wants_self(const Session *session) {
        for (size_t i = 0; i < session->n_sources; i++)
                if (streq(session->sources[i].pb->config->name, SERVICE_SELF_SOURCE))
                        return true;
        return false;
}

void self_trace_offer(Session *session) {
        Service *service = session->service;
        Producer *producer;

        if (!session_wants_self(session))
                return;
        /* Out of memory: missing, like any source that nobody offers. */
        if (!service->self && self_trace_new(&service->self, service) != 0)
                return;
        producer = service->self->producer;
        session_match_source(session, producer, producer->sources[0]);
}
