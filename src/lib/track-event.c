/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Track events: dt_init(), categories, and the data source's callbacks */

#include <errno.h>

#include "lib/library.h"
#include "lib/observer.h"
#include "lib/source-private.h"
#include "lib/startup.h"
#include "lib/track-wait.h"
#include "lib/track.h"
#include "shared/names.h"
#include "wire/wire-reader.h"

#define SOURCE_NAME    "track_event"
#define GROW_BYTES_MIN 1024

/* perfetto.protos.DataSourceConfig */
#define CONFIG_TRACK_EVENT 113

/* perfetto.protos.DataSourceDescriptor, TrackEventDescriptor, TrackEventCategory */
enum {
        DESCRIPTOR_NAME = 1,
        DESCRIPTOR_WILL_NOTIFY_ON_STOP = 2,
        DESCRIPTOR_WILL_NOTIFY_ON_START = 3,
        DESCRIPTOR_HANDLES_INCREMENTAL_STATE_CLEAR = 4,
        DESCRIPTOR_TRACK_EVENT = 6,
        DESCRIPTOR_CATEGORIES = 1,
        CATEGORY_NAME = 1,
        CATEGORY_DESCRIPTION = 2,
        CATEGORY_TAGS = 3,
};

/* Under the lock. */
static unsigned n_numbers; /* numbers that categories have had so far */
static dt_source *source;  /* NULL: not started */

/*
 * Sessions: the data source's callbacks, on the library's thread
 */

static int copy_config(TrackSession *session, const void *config, size_t n_config) {
        WireReader reader;
        WireField field;

        bytes_clear(&session->config);
        wire_reader_init(&reader, config, n_config);
        while (wire_read(&reader, &field) > 0)
                if (field.number == CONFIG_TRACK_EVENT && field.type == WIRE_BYTES &&
                    bytes_append(&session->config, field.data, field.n_bytes) < 0)
                        return -ENOMEM;
        return 0;
}

static TrackSession *find_free_session(void) {
        for (unsigned i = 0; i < DT_SESSIONS_MAX; i++)
                if (!track_sessions[i].instance)
                        return &track_sessions[i];
        return NULL;
}

/* The number of a session with the same config, or an unused one. */
static unsigned choose_stream(const Bytes *config) {
        unsigned n_used = 0;

        for (unsigned i = 0; i < DT_SESSIONS_MAX; i++) {
                const TrackSession *session = &track_sessions[i];

                if (!session->instance)
                        continue;
                if (session->config.n == config->n &&
                    (config->n == 0 || memcmp(session->config.data, config->data, config->n) == 0))
                        return session->stream;
                n_used |= 1u << session->stream;
        }
        return (unsigned)__builtin_ctz(~n_used);
}

static const char *
on_setup(dt_instance *instance, const void *config, size_t n_config, void *userdata) {
        const char *error = NULL;
        TrackSession *session;

        track_lock();
        session = find_free_session();
        if (!session)
                error = "This program's track events are in 8 sessions already, which is the "
                        "limit.";
        else if (copy_config(session, config, n_config) < 0)
                error = "The program is out of memory.";
        else {
                session->stream = choose_stream(&session->config);
                session->instance = instance;
                session->started = session->continues_startup = false;
                atomic_fetch_add(&session->epoch, 1);
                dt_instance_set_userdata(instance, session);
        }
        track_unlock();
        return error;
}

static void session_switch(TrackSession *session, bool on) {
        track_lock();
        session->started = on;
        track_apply_categories();
        track_unlock();
}

static void on_start(dt_instance *instance, dt_reply *reply, void *userdata) {
        TrackSession *session = dt_instance_get_userdata(instance);

        session_switch(session, true);
        observers_tell(DT_RECORDING_STARTED);
        if (!startup_awaits(session)) /* otherwise the hand-over ends it */
                track_wait_end();
        dt_reply_done(reply, NULL);
}

/* Only this thread changes `started`. */
static void session_end(TrackSession *session) {
        if (!session->started)
                return;
        observers_tell(DT_RECORDING_ENDS);
        session_switch(session, false);
}

static void on_stop(dt_instance *instance, dt_reply *reply, void *userdata) {
        TrackSession *session = dt_instance_get_userdata(instance);

        startup_hand_over_to(session);
        session_end(session);
        dt_reply_done(reply, NULL);
}

static void on_clear(dt_instance *instance, void *userdata) {
        TrackSession *session = dt_instance_get_userdata(instance);

        atomic_fetch_add_explicit(&session->n_clears, 1, memory_order_relaxed);
}

static void on_gone(dt_instance *instance, void *userdata) {
        TrackSession *session = dt_instance_get_userdata(instance);

        session_end(session);
        track_lock();
        session->instance = NULL;
        bytes_deinit(&session->config);
        track_unlock();
}

/*
 * Categories
 */

typedef struct Offer {
        Bytes descriptor;
        const char **names;
} Offer;

static void offer_deinit(Offer *offer) {
        bytes_deinit(&offer->descriptor);
        free(offer->names);
}

static int grow_descriptor(WireWriter *writer, size_t n_more) {
        Bytes *bytes = writer->userdata;
        int r;

        bytes->n = wire_writer_size(writer);
        r = bytes_reserve(bytes, MAX(n_more, (size_t)GROW_BYTES_MIN));
        if (r < 0)
                return r;
        writer->start = bytes->data;
        writer->at = bytes->data + bytes->n;
        writer->end = bytes->data + bytes->n_allocated;
        return 0;
}

static void put_tags(WireWriter *writer, const char *tags) {
        while (tags && *tags) {
                size_t n = strcspn(tags, ",");

                wire_put_bytes(writer, CATEGORY_TAGS, tags, n);
                tags += n;
                tags += *tags == ',';
        }
}

static void put_category(WireWriter *writer, const dt_category *category) {
        size_t begin = wire_begin(writer, DESCRIPTOR_CATEGORIES);

        wire_put_string(writer, CATEGORY_NAME, category->name);
        if (category->description)
                wire_put_string(writer, CATEGORY_DESCRIPTION, category->description);
        put_tags(writer, category->tags);
        wire_end(writer, begin);
}

static int describe(Offer *offer) {
        WireWriter writer;
        size_t begin;

        wire_writer_init(&writer, NULL, 0);
        writer.grow = grow_descriptor;
        writer.userdata = &offer->descriptor;
        wire_put_string(&writer, DESCRIPTOR_NAME, SOURCE_NAME);
        wire_put_bool(&writer, DESCRIPTOR_WILL_NOTIFY_ON_STOP, true);
        wire_put_bool(&writer, DESCRIPTOR_WILL_NOTIFY_ON_START, true);
        wire_put_bool(&writer, DESCRIPTOR_HANDLES_INCREMENTAL_STATE_CLEAR, true);
        begin = wire_begin(&writer, DESCRIPTOR_TRACK_EVENT);
        for (const dt_category *at = track_categories; at; at = at->next)
                put_category(&writer, at);
        wire_end(&writer, begin);
        offer->descriptor.n = wire_writer_size(&writer);
        return wire_writer_failed(&writer) ? -ENOMEM : 0;
}

/* Builds the source's descriptor with the current categories. */
static int offer_make(Offer *offer, dt_source_options *ret) {
        size_t n = 0;

        for (const dt_category *at = track_categories; at; at = at->next)
                n++;
        offer->names = calloc(n + 1, sizeof(*offer->names));
        if (!offer->names || describe(offer) < 0)
                return -ENOMEM;
        for (const dt_category *at = track_categories; at; at = at->next)
                offer->names[--n] = at->name; /* the list has the newest first */
        *ret = (dt_source_options){
                .descriptor = offer->descriptor.data,
                .n_descriptor = offer->descriptor.n,
                .categories = offer->names,
                .no_flush = true,
                .packet_fields = track_packet_fields,
                .n_packet_fields = TRACK_PACKET_FIELDS_N,
        };
        return 0;
}

static void update_source(void) {
        _cleanup_(offer_deinit) Offer offer = { 0 };
        dt_source_options options;

        /* If memory runs out, users see the old list; recordings are still right. */
        if (source && offer_make(&offer, &options) == 0)
                dt_source_update(source, &options);
}

static bool category_is_registered(const dt_category *category) {
        for (const dt_category *at = track_categories; at; at = at->next)
                if (at == category)
                        return true;
        return false;
}

static bool number_is_free(unsigned number) {
        for (const dt_category *at = track_categories; at; at = at->next)
                if (at->number == number)
                        return false;
        return true;
}

/* A new number while there are any, and after that the number of an unregistered category, as when plugins come
 * and go: streams that know its old name have to be given the new one. DT_CATEGORIES_MAX if all are in use. */
static unsigned choose_number(void) {
        if (n_numbers < DT_CATEGORIES_MAX)
                return n_numbers++;
        for (unsigned number = 0; number < DT_CATEGORIES_MAX; number++) {
                if (!number_is_free(number))
                        continue;
                for (unsigned i = 0; i < DT_SESSIONS_MAX; i++)
                        atomic_fetch_add(&track_sessions[i].n_clears, 1);
                return number;
        }
        return DT_CATEGORIES_MAX;
}

DT_EXPORT void dt_category_register(dt_category *category) {
        if (library_inert())
                return;
        track_lock();
        if (!category_is_registered(category)) {
                category->number = choose_number();
                category->next = track_categories;
                track_categories = category;
                track_apply_category(category);
                update_source();
        }
        track_unlock();
}

DT_EXPORT void dt_category_unregister(dt_category *category) {
        if (library_inert())
                return;
        track_lock();
        for (dt_category **at = &track_categories; *at; at = &(*at)->next)
                if (*at == category) {
                        *at = category->next;
                        break;
                }
        __atomic_store_n(&category->enabled, 0, __ATOMIC_RELAXED);
        /* The service is told with the next change, since usually the whole program is ending. */
        track_unlock();
}

/*
 * Start
 */

static const dt_source_ops track_ops = {
        .setup = on_setup,
        .start = on_start,
        .stop = on_stop,
        .clear_incremental_state = on_clear,
        .gone = on_gone,
};

bool track_is_offered(void) {
        return source;
}

void track_forget_parent(void) {
        track_process_uuid = 0;
        track_thread_forget_parent();
}

static int start(const dt_options *options) {
        _cleanup_(offer_deinit) Offer offer = { 0 };
        dt_source_options source_options;
        int r;

        if (options) {
                r = dt_set_producer(
                        options->name, options->shared_memory_bytes, options->page_bytes);
                if (r < 0 &&
                    r != -EBUSY) /* a program with sources of its own may have set it already */
                        return r;
        }
        r = track_introduce_process();
        if (r < 0)
                return r;
        r = offer_make(&offer, &source_options);
        if (r < 0)
                return r;
        return dt_source_register(&source, SOURCE_NAME, &source_options, &track_ops, NULL);
}

DT_EXPORT int dt_init(const dt_options *options) {
        int saved_errno = errno, cancel_state;
        bool is_first;
        int r;

        if (library_inert())
                return -ECANCELED;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
        track_lock();
        is_first = !source;
        r = source ? 0 : start(options);
        track_unlock();
        /* On the library's thread, in a callback of another source, this would wait for itself. */
        if (r == 0 && is_first && !library_on_thread())
                track_wait(track_wait_ms(secure_getenv(TRACING_ENV_WAIT)));
        pthread_setcancelstate(cancel_state, NULL);
        errno = saved_errno;
        return r;
}
