/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Instances: one session's use of a data source, and the service's requests, each answered once */

#include <errno.h>

#include "lib/source-private.h"
#include "lib/writer.h"
#include "shared/assert-in-tests.h"
#include "shared/names.h"
#include "wire/wire-reader.h"

/* perfetto.protos.DataSourceConfig */
enum {
        CONFIG_TARGET_BUFFER = 2,
        CONFIG_BUFFER_EXHAUSTED_POLICY = 9,
};

/* DataSourceConfig.BufferExhaustedPolicy: no program is aborted, whatever the config says. */
enum {
        EXHAUSTED_STALL_THEN_ABORT = 2,
        EXHAUSTED_STALL_THEN_DROP = 3,
};

/*
 * Requests and replies
 */

/* Stands in for an error text that cannot be copied: a failure must not turn into a success. */
static char no_memory[] = "Cannot allocate memory";

static char *error_copy(const char *error) {
        return error ? strdup(error) ?: no_memory : NULL;
}

static void error_free(char *error) {
        if (error != no_memory)
                free(error);
}

static Request *request_free(Request *request) {
        assert_in_tests(request->n_open == 0);
        sd_bus_message_unref(request->call);
        memory_unref(request->memory);
        error_free(request->error);
        free(request);
        return NULL;
}

int request_new(Request **ret, sd_bus_message *call) {
        Request *request = calloc(1, sizeof(*request));

        if (!request)
                return -ENOMEM;
        request->call = sd_bus_message_ref(call);
        request->n_open = 1;
        *ret = request;
        return 0;
}

int request_new_in_memory(Request **ret, Memory *memory, unsigned place) {
        Request *request = calloc(1, sizeof(*request));

        if (!request)
                return -ENOMEM;
        request->memory = memory_ref(memory);
        request->place = place;
        request->n_open = 1;
        *ret = request;
        return 0;
}

void request_close(Request *request, const char *error) {
        if (error && !request->error)
                request->error = error_copy(error);
        if (--request->n_open > 0)
                return;
        /* If the service has gone, this fails, which does no harm. */
        if (request->memory)
                smb_answer(&request->memory->producer, request->place);
        else if (request->call && request->error)
                sd_bus_reply_method_errorf(
                        request->call, TRACING_ERROR_PREFIX "SourceFailed", "%s", request->error);
        else if (request->call)
                sd_bus_reply_method_return(request->call, NULL);
        request_free(request);
}

void instance_drop_replies(dt_instance *instance) {
        dt_reply *reply;

        list_for_each (reply, &instance->replies, instance_link)
                reply->request->call = sd_bus_message_unref(reply->request->call);
}

static int reply_new(dt_reply **ret, ReplyKind kind, dt_instance *instance, Request *request) {
        dt_reply *reply = calloc(1, sizeof(*reply));

        if (!reply)
                return -ENOMEM;
        reply->kind = kind;
        reply->instance = instance;
        reply->request = request;
        request->n_open++;
        list_init(&reply->answer_link);
        list_append(&instance->replies, &reply->instance_link);
        *ret = reply;
        return 0;
}

static void flush_writers(dt_instance *instance) {
        library_lock();
        writers_return_chunks(&instance->writers, false);
        library_unlock();
}

void connection_return_idle_chunks(Connection *connection) {
        dt_instance *instance;

        if (!connection->memory || !atomic_exchange(&connection->memory->is_starving, false))
                return;
        list_for_each (instance, &connection->instances, connection_link)
                flush_writers(instance);
}

/* Applies an answer to its instance, if that still exists. */
static void reply_apply(dt_reply *reply) {
        dt_instance *instance = reply->instance;

        if (!instance)
                return;
        list_unlink(&reply->instance_link);
        switch (reply->kind) {
        case REPLY_START:
                if (reply->error)
                        instance_end(instance);
                break;
        case REPLY_FLUSH:
                flush_writers(instance);
                break;
        case REPLY_STOP:
                instance_end(instance);
                break;
        }
}

static void reply_finish(dt_reply *reply) {
        reply_apply(reply);
        request_close(reply->request, reply->error);
        error_free(reply->error);
        free(reply);
}

void replies_send(void) {
        notes_send();
        for (;;) {
                dt_reply *reply;

                library_lock();
                reply = list_first(&library.answers, dt_reply, answer_link);
                if (reply)
                        list_unlink(&reply->answer_link);
                library_unlock();
                if (!reply)
                        return;
                reply_finish(reply);
        }
}

DT_EXPORT void dt_reply_done(dt_reply *reply, const char *error) {
        if (library_inert())
                return;
        reply->error = error_copy(error);
        library_lock();
        list_append(&library.answers, &reply->answer_link);
        library_unlock();
        if (!library_on_thread()) /* otherwise the loop sends them before it waits */
                library_wake();
}

/*
 * Instances
 */

static int read_config(dt_instance *instance, const void *config, size_t n_config) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, config, n_config);
        while ((r = wire_read(&reader, &field)) > 0) {
                if (field.type != WIRE_VARINT)
                        continue;
                if (field.number == CONFIG_TARGET_BUFFER && field.value <= UINT16_MAX)
                        instance->target_buffer = (uint16_t)field.value;
                if (field.number == CONFIG_BUFFER_EXHAUSTED_POLICY)
                        instance->full_policy =
                                field.value == EXHAUSTED_STALL_THEN_ABORT ||
                                                field.value == EXHAUSTED_STALL_THEN_DROP
                                        ? SMB_FULL_STALL
                                        : SMB_FULL_DROP;
        }
        return r < 0 || instance->target_buffer == 0 ? -EINVAL : 0;
}

dt_instance *instance_find(Connection *connection, uint64_t id) {
        dt_instance *instance;

        list_for_each (instance, &connection->instances, connection_link)
                if (instance->id == id)
                        return instance;
        return NULL;
}

static dt_instance *instance_free(dt_instance *instance) {
        instance_drop_notes(instance);
        assert_in_tests(list_is_empty(&instance->notes));
        assert_in_tests(list_is_empty(&instance->replies));
        assert_in_tests(list_is_empty(&instance->writers));
        list_unlink(&instance->source_link);
        list_unlink(&instance->connection_link);
        memory_unref(instance->memory);
        free(instance);
        return NULL;
}

static dt_instance *make(Connection *connection, uint64_t id, dt_source *source) {
        dt_instance *instance = calloc(1, sizeof(*instance));

        if (!instance)
                return NULL;
        instance->id = id;
        instance->connection = connection;
        instance->source = source;
        instance->memory = memory_ref(connection->memory);
        list_init(&instance->writers);
        list_init(&instance->replies);
        list_init(&instance->notes);
        list_append(&source->instances, &instance->source_link);
        list_append(&connection->instances, &instance->connection_link);
        return instance;
}

static void end_recording(dt_instance *instance) {
        if (instance->recording)
                atomic_fetch_sub(&instance->source->n_recording, 1);
        library_lock();
        instance->over = true;
        writers_return_chunks(&instance->writers, true);
        library_unlock();
}

int instance_new(Connection *connection,
                 uint64_t id,
                 const char *name,
                 const void *config,
                 size_t n_config,
                 const char **ret_error) {
        dt_instance *instance;
        dt_source *source;
        int r;

        if (instance_find(connection, id))
                return -EEXIST;
        library_lock();
        source = source_find(name); /* it stays on the list: only this thread removes sources */
        library_unlock();
        if (!source)
                return -ENOENT;
        instance = make(connection, id, source);
        if (!instance)
                return -ENOMEM;
        r = read_config(instance, config, n_config);
        if (r == 0) {
                *ret_error = source->ops->setup(instance, config, n_config, source->userdata);
                r = *ret_error ? -ECANCELED : 0;
        }
        if (r < 0) {
                end_recording(instance);
                instance_free(instance);
        }
        return r;
}

void instance_end(dt_instance *instance) {
        dt_source *source = instance->source;
        dt_reply *reply;

        instance_send_notes(instance);
        end_recording(instance);
        list_for_each (reply, &instance->replies, instance_link) {
                reply->instance = NULL;
                list_unlink(&reply->instance_link);
        }
        if (source->ops->gone)
                source->ops->gone(instance, source->userdata);
        instance_free(instance);
}

/* The operations that a dt_reply answers. */
typedef void (*Handler)(dt_instance *instance, dt_reply *reply, void *userdata);

static int ask(dt_instance *instance, ReplyKind kind, Handler handler, Request *request) {
        dt_reply *reply;
        int r;

        r = reply_new(&reply, kind, instance, request);
        if (r < 0) {
                request->error = request->error ?: no_memory;
                return r;
        }
        if (handler)
                handler(instance, reply, instance->source->userdata);
        else
                reply_finish(reply);
        return 0;
}

int instance_start(dt_instance *instance, Request *request) {
        /* A repeated request: the program was suspended when it was first asked. */
        if (instance->state == INSTANCE_STARTED)
                return 0;
        if (instance->state != INSTANCE_CONFIGURED)
                return -EALREADY;
        instance->state = INSTANCE_STARTED;
        instance->recording = true;
        atomic_fetch_add(&instance->source->n_recording, 1);
        return ask(instance, REPLY_START, instance->source->ops->start, request);
}

int instance_flush(dt_instance *instance, Request *request) {
        return ask(instance, REPLY_FLUSH, instance->source->ops->flush, request);
}

int instance_stop(dt_instance *instance, Request *request) {
        if (instance->state == INSTANCE_STOPPING)
                return -EALREADY;
        instance->state = INSTANCE_STOPPING;
        return ask(instance, REPLY_STOP, instance->source->ops->stop, request);
}

void instance_clear(dt_instance *instance) {
        library_lock();
        writers_clear_state(&instance->writers);
        library_unlock();
        if (instance->source->ops->clear_incremental_state)
                instance->source->ops->clear_incremental_state(instance,
                                                               instance->source->userdata);
}

DT_EXPORT void dt_instance_set_userdata(dt_instance *instance, void *userdata) {
        instance->userdata = userdata;
}

DT_EXPORT void *dt_instance_get_userdata(const dt_instance *instance) {
        return instance->userdata;
}
