/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Registration and the routing of answers. What a producer registers is charged to its user; what it
 * writes is the business of producer-memory.c.
 */

#include <assert.h>
#include <errno.h>

#include "core/policy.h"
#include "core/producer-private.h"
#include "core/session-private.h"
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
static bool name_is_valid(const char *name, size_t max) {
        size_t n = strnlen(name, max + 1);

        if (n == 0 || n > max)
                return false;
        for (size_t i = 0; i < n; i++)
                if (name[i] < ' ' || name[i] > '~')
                        return false;
        return true;
}

static ProducerSource *source_free(ProducerSource *source) {
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
DEFINE_CLEANUP(ProducerSource *, source_free)

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

static int source_new(ProducerSource **ret,
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

int producer_new(Producer **ret,
                 Service *service,
                 const Identity *identity,
                 const char *name,
                 const ProducerOptions *options,
                 const ProducerOps *ops,
                 void *peer) {
        _cleanup_(producer_freep) Producer *producer = NULL;
        int r;

        if (!name_is_valid(name, PRODUCER_NAME_MAX))
                return PRODUCER_E_INVALID;
        if (service->is_locked_down && !policy_passes_lockdown(&service->info, identity))
                return PRODUCER_E_LOCKDOWN;

        producer = calloc(1, sizeof(*producer));
        if (!producer)
                return -ENOMEM;
        producer->service = service;
        producer->identity = *identity;
        producer->user = service_user_of(service, identity);
        producer->options = *options;
        producer->ops = ops;
        producer->peer = peer;
        list_init(&producer->link);
        list_init(&producer->instances);
        list_init(&producer->awake_link);
        list_init(&producer->unused_link);

        producer->name = strdup(name);
        producer->options.version = NULL; /* the caller's */
        if (options->version)
                producer->version = utf8_copy_line(options->version, PRODUCER_VERSION_MAX);
        if (!producer->name || (options->version && !producer->version))
                return -ENOMEM;
        r = quota_charge(&service->quota, &producer->charge, producer->user, QUOTA_PRODUCERS, 1);
        if (r)
                return r == QUOTA_E_EXCEEDED ? PRODUCER_E_LIMIT : error_fold(r);
        r = census_join(&producer->census, &service->census, identity->uid);
        if (r < 0)
                return r;

        producer->id = producer->origin_id = service_new_producer_id(service, identity->uid);
        producer->order = ++service->n_producers_ever;
        list_append(&service->producers, &producer->link);
        service->n_producers++;
        producer->census->n[CENSUS_PRODUCERS]++;
        producer->census->n[CENSUS_PRODUCERS_SEEN]++;
        *ret = TAKE(producer);
        return 0;
}

/* Takes the source over on success only. */
static int producer_append_source(Producer *producer, ProducerSource *source) {
        ProducerSource **grown;

        grown = reallocarray(producer->sources, producer->n_sources + 1, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        producer->sources = grown;
        producer->sources[producer->n_sources++] = source;
        producer->census->n[CENSUS_SOURCES]++;
        producer->census->n[CENSUS_SOURCES_SEEN]++;
        return 0;
}

int producer_new_builtin(Producer **ret,
                         Service *service,
                         const char *source,
                         const ProducerOps *ops,
                         void *peer) {
        _cleanup_(producer_freep) Producer *producer = NULL;
        _cleanup_(source_freep) ProducerSource *offered = NULL;
        int r;

        producer = calloc(1, sizeof(*producer));
        if (!producer)
                return -ENOMEM;
        producer->service = service;
        producer->identity = (Identity){ .uid = service->info.uid, .pid = service->info.pid };
        producer->user = service->info.uid;
        producer->options.is_native = true;
        producer->ops = ops;
        producer->peer = peer;
        producer->is_builtin = true;
        producer->has_memory = true; /* all it needs: there is no area to look at */
        list_init(&producer->link);
        list_init(&producer->instances);
        list_init(&producer->awake_link);
        list_init(&producer->unused_link);
        producer->name = strdup("desktraced");
        if (!producer->name)
                return -ENOMEM;
        r = census_join(&producer->census, &service->census, service->info.uid);
        if (r < 0)
                return r;
        r = source_new(&offered, producer, source, &(SourceOptions){ .no_flush = true });
        if (r == 0)
                r = producer_append_source(producer, offered);
        if (r)
                return r;
        TAKE(offered);
        producer->id = producer->origin_id = service_new_producer_id(service, service->info.uid);
        *ret = TAKE(producer);
        return 0;
}

static void producer_take_all(Producer *producer) {
        producer_drain(producer);
        producer_scan(producer, NULL);
}

/* Ends the producer's instances, of one source or (NULL) all. The time is not known here: the sessions look at their
 * state with the next tick, which is due at once. */
static void producer_end_instances(Producer *producer, const ProducerSource *source) {
        SourceInstance *instance;

        list_for_each (instance, &producer->instances, producer_link) {
                if (source && instance->offered != source)
                        continue;
                instance->session->is_dirty = true;
                instance->is_cut_short = session_is_running(instance->session);
                instance_stopped(instance, NULL);
        }
}

/* Perfetto's producers have taken back what they offer, and wait to be told that it is over. */
static void producer_stop_instances(Producer *producer, const ProducerSource *source) {
        const SourceInstance *instance;

        list_for_each (instance, &producer->instances, producer_link)
                if (instance->offered == source && instance->state < INSTANCE_STOPPING)
                        producer->ops->stop_source(producer->peer, instance->id);
}

Producer *producer_free(Producer *producer) {
        if (!producer)
                return NULL;

        /* While its buffers are still its own: a crash loses only the packet at hand. */
        producer_take_all(producer);
        producer_end_instances(producer, NULL);
        if (list_is_linked(&producer->link)) {
                service_producer_gone(producer->service, producer->origin_id);
                list_unlink(&producer->link);
                producer->service->n_producers--;
                producer->census->n[CENSUS_PRODUCERS]--;
        }
        list_unlink(&producer->awake_link);
        list_unlink(&producer->unused_link);
        for (size_t i = 0; i < producer->n_sources; i++)
                source_free(producer->sources[i]);
        free(producer->sources);
        if (producer->census)
                producer->census->n[CENSUS_SOURCES] -= producer->n_sources;
        census_leave(producer->census);

        charge_deinit(&producer->memory_charge);
        charge_deinit(&producer->charge);
        free(producer->writer_buffers);
        free(producer->version);
        free(producer->name);
        free(producer);
        return NULL;
}

static ssize_t producer_find_source(const Producer *producer, const char *name) {
        for (size_t i = 0; i < producer->n_sources; i++)
                if (streq(producer->sources[i]->name, name))
                        return (ssize_t)i;
        return -1;
}

/* New options for a source that it has: running instances go on. */
static void producer_update_source(Producer *producer, size_t at, ProducerSource *source) {
        ProducerSource *old = producer->sources[at];
        SourceInstance *instance;

        list_for_each (instance, &producer->instances, producer_link)
                if (instance->offered == old)
                        instance->offered = source;
        producer->sources[at] = source;
        source_free(old);
}

/* To every session, also to those that do not know yet that they miss it. */
static void producer_offer(Producer *producer, ProducerSource *source, uint64_t now) {
        Session *session;

        list_for_each (session, &producer->service->sessions, link) {
                session_match_source(session, producer, source);
                session_progress(session, now);
        }
}

int producer_add_source(Producer *producer,
                        const char *name,
                        const SourceOptions *options,
                        uint64_t now) {
        Service *service = producer->service;
        _cleanup_(source_freep) ProducerSource *source = NULL;
        ssize_t at;
        int r;

        now = service_note_now(service, now);
        if (!name_is_valid(name, SOURCE_NAME_MAX))
                return PRODUCER_E_INVALID;
        if (streq(name, SERVICE_SELF_SOURCE) ||
            !policy_may_register(&service->info, &producer->identity, name))
                return PRODUCER_E_RESERVED;
        at = producer_find_source(producer, name);
        if (at < 0 && producer->n_sources >= PRODUCER_SOURCES_MAX)
                return PRODUCER_E_LIMIT;

        r = source_new(&source, producer, name, options);
        if (r)
                return r;
        if (at >= 0) {
                producer_update_source(producer, (size_t)at, TAKE(source));
                return 0;
        }
        r = producer_append_source(producer, source);
        if (r < 0)
                return r;
        producer_offer(producer, TAKE(source), now);
        service_activated(service);
        return 0;
}

int producer_remove_source(Producer *producer, const char *name, uint64_t now) {
        ssize_t at = producer_find_source(producer, name);
        ProducerSource *source;
        Session *session;

        if (at < 0)
                return PRODUCER_E_UNKNOWN;
        now = service_note_now(producer->service, now);
        source = producer->sources[at];
        producer->sources[at] = producer->sources[--producer->n_sources];
        producer->census->n[CENSUS_SOURCES]--;

        producer_take_all(producer);
        if (!producer->options.is_native)
                producer_stop_instances(producer, source);
        producer_end_instances(producer, source);
        source_free(source);
        list_for_each (session, &producer->service->sessions, link)
                session_progress(session, now);
        return 0;
}

static SourceInstance *producer_find_instance(const Producer *producer, uint64_t id) {
        SourceInstance *instance;

        list_for_each (instance, &producer->instances, producer_link)
                if (instance->id == id)
                        return instance;
        return NULL;
}

int producer_instance_config(const Producer *producer, uint64_t instance, Bytes *ret) {
        const SourceInstance *found = producer_find_instance(producer, instance);

        return found ? instance_encode_config(found, ret) : -ENOENT;
}

/* It runs, so all of its instances may be waited for. */
static void producer_is_awake(Producer *producer) {
        SourceInstance *instance;

        list_for_each (instance, &producer->instances, producer_link)
                instance_set_suspended(instance, false);
}

/* The others of this session get another grace period. */
static void producer_answered(Session *session, Producer *producer, uint64_t now) {
        producer_is_awake(producer);
        session_give_grace(session, now);
        session_progress(session, now);
}

/* An answer that comes when nobody waits any more, or that was never asked for, changes nothing. */
void producer_source_started(Producer *producer, uint64_t instance, uint64_t now) {
        SourceInstance *found = producer_find_instance(producer, instance);

        now = service_note_now(producer->service, now);
        if (!found || found->state != INSTANCE_STARTING)
                return;
        instance_started(found);
        producer_answered(found->session, producer, now);
}

void producer_source_failed(Producer *producer, uint64_t instance, const char *why, uint64_t now) {
        SourceInstance *found = producer_find_instance(producer, instance);

        now = service_note_now(producer->service, now);
        if (!found)
                return;
        instance_stopped(found, why && why[0] ? why : N_("its producer gave no reason"));
        producer_answered(found->session, producer, now);
}

void producer_source_note(Producer *producer, uint64_t instance, const char *text, uint64_t now) {
        SourceInstance *found = producer_find_instance(producer, instance);

        now = service_note_now(producer->service, now);
        if (found)
                session_add_note(found, text, now);
}

/* What the instance wrote last is committed before its answer: taken while the buffer is still the producer's. */
void producer_source_stopped(Producer *producer, uint64_t instance, uint64_t now) {
        SourceInstance *found = producer_find_instance(producer, instance);

        now = service_note_now(producer->service, now);
        if (!found)
                return;
        producer_drain(producer);
        producer_scan(producer, found->session);
        instance_stopped(found, NULL);
        producer_answered(found->session, producer, now);
}

/* Also of flushes that nobody waits for any more. */
static void producer_pays(Producer *producer, uint64_t request) {
        SourceInstance *instance;

        list_for_each (instance, &producer->instances, producer_link)
                if (instance->owed_flush <= request)
                        instance->owed_flush = 0;
}

static Flush *
session_find_flush(const Session *session, const Producer *producer, uint64_t request) {
        Flush *flush;

        list_for_each (flush, &session->flushes, link)
                if (flush_is_request(flush, producer, request))
                        return flush;
        return NULL;
}

void producer_flushed(Producer *producer, uint64_t request, uint64_t now) {
        Session *session;

        now = service_note_now(producer->service, now);
        producer_is_awake(producer); /* also if it is late */
        producer_pays(producer, request);
        list_for_each (session, &producer->service->sessions, link) {
                const Flush *answered = session_find_flush(session, producer, request);
                FlushGroup group;
                uint64_t id;
                Flush *flush;

                if (!answered)
                        continue;
                /* A producer that has flushed everything until now has done what older requests asked for. */
                group = answered->group;
                id = answered->id;
                list_for_each (flush, &session->flushes, link)
                        if (flush->id <= id && (group == FLUSH_GROUP_ALL || flush->group == group))
                                flush_producer_done(flush, producer);
                producer_answered(session, producer, now);
                return;
        }
}

uint64_t producer_order(const Producer *producer) {
        return producer->order;
}

uint64_t producer_id(const Producer *producer) {
        return producer->id;
}

const char *producer_name(const Producer *producer) {
        return producer->name;
}

const Identity *producer_identity(const Producer *producer) {
        return &producer->identity;
}

const char *producer_version(const Producer *producer) {
        return producer->version ?: "";
}

size_t producer_memory_bytes(const Producer *producer) {
        return producer->has_memory ? producer->area.n_bytes : 0;
}

size_t producer_n_sources(const Producer *producer) {
        return producer->n_sources;
}

const char *producer_source_name(const Producer *producer, size_t i) {
        return producer->sources[i]->name;
}

const void *producer_source_descriptor(const Producer *producer, size_t i, size_t *ret_n) {
        const Bytes *descriptor = &producer->sources[i]->descriptor;

        *ret_n = descriptor->n;
        return descriptor->data;
}

const char *const *producer_source_categories(const Producer *producer, size_t i) {
        return (const char *const *)producer->sources[i]->categories;
}

const char *producer_source_unavailable(const Producer *producer, size_t i) {
        return producer->sources[i]->unavailable;
}
