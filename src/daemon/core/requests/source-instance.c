/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The requests of one instance: its setup, start and stop. */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/ingest/producer-memory.h"
#include "core/ingest/producer-take.h"
#include "core/model/bytes-writer.h"
#include "core/model/flush.h"
#include "core/model/service.h"
#include "core/model/session-buffer.h"
#include "core/model/session-notes.h"
#include "core/model/session.h"
#include "core/requests/source-instance.h"
#include "shared/utf8.h"

/* Fields of perfetto.protos.DataSourceConfig that are the service's to say. */
enum {
        CONFIG_TARGET_BUFFER = 2,
        CONFIG_TRACE_DURATION_MS = 3,
        CONFIG_TRACING_SESSION_ID = 4,
        CONFIG_EXTRA_GUARDRAILS = 6,
        CONFIG_STOP_TIMEOUT_MS = 7,
        CONFIG_PREFER_SUSPEND_CLOCK = 122,
};

/* The bytes of the user's config, followed by the service's fields: of a field that is there twice the last one
 * counts. */
int instance_encode_config(const SourceInstance *instance, Bytes *ret) {
        const Session *session = instance->session;
        const ConfigSource *raw = &session->config->sources[instance->source->index];
        const Perfetto__Protos__TraceConfig *config = session->config->pb;
        WireWriter writer;

        bytes_writer_init(&writer, ret);
        wire_put_raw(&writer, raw->bytes, raw->n_bytes);
        wire_put_uint(&writer, CONFIG_TARGET_BUFFER, instance->buffer->id);
        wire_put_uint(&writer, CONFIG_TRACE_DURATION_MS, config->duration_ms);
        wire_put_uint(&writer, CONFIG_TRACING_SESSION_ID, session->id);
        wire_put_uint(&writer, CONFIG_STOP_TIMEOUT_MS, session_stop_timeout_ns(session) / 1000000);
        /* Only when they are set: they would be noise in all others. */
        if (config->enable_extra_guardrails)
                wire_put_uint(&writer, CONFIG_EXTRA_GUARDRAILS, 1);
        if (config->prefer_suspend_clock_for_duration)
                wire_put_uint(&writer, CONFIG_PREFER_SUSPEND_CLOCK, 1);
        return bytes_writer_finish(&writer, ret);
}

static int instance_ask_setup(const SourceInstance *instance) {
        _cleanup_(bytes_deinit) Bytes config = {};
        Producer *producer = instance->producer;
        int r;

        r = instance_encode_config(instance, &config);
        if (r < 0)
                return r;
        producer->ops->setup_source(producer->peer,
                                    instance->id,
                                    instance->source->pb->config->name,
                                    config.data,
                                    config.n);
        return 0;
}

/* A producer without shared memory cannot take part. The session notes that and goes on without it. */
static int instance_setup(SourceInstance *instance) {
        Producer *producer = instance->producer;
        int r;

        r = producer_setup_memory(producer, instance->session->config->pb);
        if (r) {
                instance_stopped(instance,
                                 r > 0 ? N_("this user's programs have reached the limit of shared "
                                            "memory, SERVICE_MEMORY_BYTES_PER_USER_MAX")
                                       : strerror(-r));
                return 0;
        }
        instance->dropped_before = producer_n_dropped(producer);
        return instance_ask_setup(instance);
}

static int instance_make(SourceInstance **ret,
                         Session *session,
                         SessionSource *source,
                         Producer *producer,
                         ProducerSource *offered,
                         uint64_t id) {
        _cleanup_(instance_freep) SourceInstance *instance = NULL;
        int r;

        instance = calloc(1, sizeof(*instance));
        if (!instance)
                return -ENOMEM;
        list_init(&instance->session_link);
        list_init(&instance->producer_link);
        list_init(&instance->changed_link);
        instance->id = id;
        instance->session = session;
        instance->source = source;
        instance->buffer = source->buffer;
        instance->state = INSTANCE_CONFIGURED;
        instance->identity = producer->identity;
        instance->user = producer->user;
        instance->producer_name = strdup(producer->name);
        if (!instance->producer_name)
                return -ENOMEM;
        r = session_rules_add(&session->reader.rules, producer->origin_id, &offered->rules);
        if (r < 0)
                return r;

        /* Linked before it is set up: from here on instance_free() unlinks it whatever fails. */
        instance->producer = producer;
        instance->offered = offered;
        list_append(&producer->instances, &instance->producer_link);
        list_append(&session->instances, &instance->session_link);
        session->n_instances++;
        source->n_instances++;
        instance_count(instance, 1);
        *ret = TAKE(instance);
        return 0;
}

int instance_new(SourceInstance **ret,
                 Session *session,
                 SessionSource *source,
                 Producer *producer,
                 ProducerSource *offered) {
        _cleanup_(instance_freep) SourceInstance *instance = NULL;
        int r;

        r = instance_make(
                &instance, session, source, producer, offered, ++producer->last_instance_id);
        if (r == 0)
                r = instance_setup(instance);
        if (r < 0)
                return r;
        *ret = TAKE(instance);
        return 0;
}

int instance_restore(Session *session,
                     SessionSource *source,
                     Producer *producer,
                     ProducerSource *offered,
                     uint64_t id,
                     InstanceState state,
                     uint64_t dropped_before) {
        SourceInstance *instance;
        int r;

        r = instance_make(&instance, session, source, producer, offered, id);
        if (r < 0)
                return r;
        instance->is_restored = true;
        instance->dropped_before = dropped_before;
        source->awaited = -1;
        /* One after the other, as each has its predecessors. */
        for (unsigned next = INSTANCE_CONFIGURED + 1; next <= state; next++)
                instance_enter(instance, (InstanceState)next);
        if (state == INSTANCE_CONFIGURED && session_is_running(session))
                instance_start(instance);
        return 0;
}

/* Whether another live instance of the session is the same producer's. */
static bool instance_has_sibling(const SourceInstance *instance) {
        const SourceInstance *at;

        list_for_each (at, &instance->producer->instances, producer_link)
                if (at != instance && at->session == instance->session)
                        return true;
        return false;
}

static void _printf_(2, 3) instance_note(SourceInstance *instance, const char *format, ...) {
        char text[INSTANCE_NOTE_BYTES_MAX];
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        session_add_note(instance, text, instance->session->service->now);
}

/* The session keeps the producer's word, and says in the trace that it is no more than that. */
static void instance_take_losses(SourceInstance *instance) {
        Session *session = instance->session;
        uint64_t n = producer_n_dropped(instance->producer) - instance->dropped_before;

        if (n == 0)
                return;
        session->producers_dropped = add_saturated(session->producers_dropped, n);
        instance_note(instance, "it says it lost %" PRIu64 " packets", n);
}

/* The last one of the session takes with it what the producer owes to it. */
static void instance_leave_producer(SourceInstance *instance) {
        Session *session = instance->session;
        Producer *producer = instance->producer;
        Flush *flush;

        if (!producer)
                return;
        if (!instance_has_sibling(instance)) {
                instance_take_losses(instance);
                list_for_each (flush, &session->flushes, link)
                        flush_producer_done(flush, producer);
        }
        producer_forget_buffer(producer, instance->buffer->id);
        list_unlink(&instance->producer_link);
        if (list_is_empty(&producer->instances))
                producer_memory_unused(producer);
        instance->producer = NULL;
        instance->offered = NULL;
}

SourceInstance *instance_free(SourceInstance *instance) {
        if (!instance)
                return NULL;

        instance_leave_producer(instance);
        list_unlink(&instance->changed_link);
        if (list_is_linked(&instance->session_link)) {
                assert(instance->session->n_instances > 0 && instance->source->n_instances > 0);
                list_unlink(&instance->session_link);
                instance->session->n_instances--;
                instance_count(instance, -1);
                instance->source->n_instances--;
        }
        free(instance->why);
        free(instance->producer_name);
        free(instance);
        return NULL;
}

/* Late joiners and deferred sessions come here more than once. */
void instance_start(SourceInstance *instance) {
        if (instance->state != INSTANCE_CONFIGURED)
                return;
        instance_enter(instance, INSTANCE_STARTING);
        instance->producer->ops->start_source(instance->producer->peer, instance->id);
        if (!instance->offered->tells_start)
                instance_started(instance);
}

/* Also for one that was never started: the producer has set it up and must be told. */
void instance_stop(SourceInstance *instance) {
        if (instance->state >= INSTANCE_STOPPING)
                return;
        instance_enter(instance, INSTANCE_STOPPING);
        instance->producer->ops->stop_source(instance->producer->peer, instance->id);
        if (instance->offered->tells_stop)
                return;
        /* Its last answer was to the flush before; what it has written since is there to be taken. */
        producer_drain(instance->producer);
        producer_scan(instance->producer, instance->session);
        instance_stopped(instance, NULL);
}

void instance_ask_again(SourceInstance *instance) {
        const Producer *producer = instance->producer;

        if (!instance->is_restored && instance_ask_setup(instance) < 0) {
                instance_stopped(instance, strerror(ENOMEM));
                return;
        }
        if (instance->state == INSTANCE_STARTING ||
            (instance->state == INSTANCE_STARTED && !instance->is_restored))
                producer->ops->start_source(producer->peer, instance->id);
        else if (instance->state == INSTANCE_STOPPING)
                producer->ops->stop_source(producer->peer, instance->id);
}

void instance_stopped(SourceInstance *instance, const char *why) {
        if (instance->state == INSTANCE_STOPPED)
                return;
        if (why)
                instance->why = utf8_copy_line(why, INSTANCE_WHY_BYTES);
        instance_leave_producer(instance);
        instance_enter(instance, INSTANCE_STOPPED);
}
