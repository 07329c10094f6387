/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Bus source: the registry of data sources, a tree by name
 *
 * A client must not learn from the bus that programs of another user exist. So there is no list of "the" sources: each
 * question is answered for one viewer, from the producers that this viewer may see. The same holds for signals of
 * changes, which are sent later than the changes happen. A source therefore remembers two sets of users: in `told`
 * those whose producers offered it when it was last signalled, in `changed` those whose producers have come or gone
 * since. A viewer who sees a user of `changed` is sent a signal; whether the object appears, changes or disappears for
 * this viewer follows from `told` and from the producers of now.
 *
 * A source that nobody offers stays in the tree until its disappearance has been signalled (bus_source_drop()). The
 * sets grow by one user at a time. If there is no memory for that, a viewer misses a signal, and nothing else is wrong.
 */

#include <assert.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>

#include "bus/object/bus-producer.h"
#include "bus/object/bus-source.h"
#include "shared/names.h"

static int source_compare(const void *a, const void *b) {
        return strcmp(((const BusSource *)a)->name, ((const BusSource *)b)->name);
}

static bool uid_set_has(const UidSet *set, uid_t uid) {
        for (size_t i = 0; i < set->n; i++)
                if (set->uids[i] == uid)
                        return true;
        return false;
}

static int uid_set_add(UidSet *set, uid_t uid) {
        uid_t *uids;

        if (uid_set_has(set, uid))
                return 0;
        uids = reallocarray(set->uids, set->n + 1, sizeof(*uids));
        if (!uids)
                return -ENOMEM;
        set->uids = uids;
        set->uids[set->n++] = uid;
        return 0;
}

static void uid_set_clear(UidSet *set) {
        free(set->uids);
        *set = (UidSet){};
}

static bool uid_set_is_visible(const UidSet *set, const Bus *bus, const Client *viewer) {
        for (size_t i = 0; i < set->n; i++)
                if (!viewer || bus_uid_is_visible(bus, set->uids[i], viewer))
                        return true;
        return false;
}

/*
 * Sources
 */

static BusSource *source_free(BusSource *source) {
        if (!source)
                return NULL;
        assert(source->n_producers == 0);
        list_unlink(&source->dirty_link);
        uid_set_clear(&source->told);
        uid_set_clear(&source->changed);
        free(source->producers);
        free(source->name);
        free(source);
        return NULL;
}
DEFINE_CLEANUP(BusSource *, source_free)

BusSource *bus_source_by_name(Bus *bus, const char *name) {
        const BusSource key = { .name = (char *)name };
        BusSource *const *found = tfind(&key, &bus->sources_by_name, source_compare);

        return found ? *found : NULL;
}

static int source_obtain(BusSource **ret, Bus *bus, const char *name) {
        _cleanup_(source_freep) BusSource *source = NULL;

        *ret = bus_source_by_name(bus, name);
        if (*ret)
                return 0;
        source = calloc(1, sizeof(*source));
        if (!source)
                return -ENOMEM;
        source->bus = bus;
        list_init(&source->dirty_link);
        source->name = strdup(name);
        if (!source->name || !tsearch(source, &bus->sources_by_name, source_compare))
                return -ENOMEM;
        *ret = TAKE(source);
        return 0;
}

void bus_source_drop(BusSource *source) {
        tdelete(source, &source->bus->sources_by_name, source_compare);
        source_free(source);
}

static int source_add_permanent(Bus *bus, const char *name) {
        BusSource *source;
        int r;

        r = source_obtain(&source, bus, name);
        if (r == 0)
                source->is_permanent = true;
        return r;
}

int bus_sources_init(Bus *bus) {
        const Activatable *activatables;
        size_t n;
        int r;

        activatables = service_activatables(bus->service, &n);
        r = source_add_permanent(bus, SERVICE_SELF_SOURCE);
        for (size_t i = 0; r == 0 && i < n; i++)
                for (char **name = activatables[i].sources; r == 0 && *name; name++)
                        r = source_add_permanent(bus, *name);
        return r;
}

static void free_node(void *node) {
        source_free(node);
}

void bus_sources_deinit(Bus *bus) {
        tdestroy(bus->sources_by_name, free_node);
        bus->sources_by_name = NULL;
        assert(list_is_empty(&bus->dirty_sources));
}

/* If this fails for lack of memory, a client misses a signal. */
static void source_mark(BusSource *source, const BusProducer *producer) {
        uid_set_add(&source->changed, producer_identity(producer->producer)->uid);
        if (!list_is_linked(&source->dirty_link))
                list_append(&source->bus->dirty_sources, &source->dirty_link);
        bus_signals_due(source->bus);
}

static ssize_t source_find_producer(const BusSource *source, const BusProducer *producer) {
        for (size_t i = 0; i < source->n_producers; i++)
                if (source->producers[i] == producer)
                        return (ssize_t)i;
        return -1;
}

int bus_source_offer(BusProducer *producer, const char *name) {
        BusSource *source;
        int r;

        r = source_obtain(&source, producer->bus, name);
        if (r < 0)
                return r;
        if (source_find_producer(source, producer) < 0) {
                if (source->n_producers == source->n_allocated) {
                        const size_t n = MAX(2 * source->n_allocated, (size_t)1);
                        BusProducer **grown = reallocarray(source->producers, n, sizeof(*grown));

                        if (!grown) {
                                if (source->n_producers == 0 && !source->is_permanent)
                                        bus_source_drop(source);
                                return -ENOMEM;
                        }
                        source->producers = grown;
                        source->n_allocated = n;
                }
                source->producers[source->n_producers++] = producer;
        }
        source_mark(source, producer);
        return 0;
}

/* A source without producers is dropped after that was signalled. */
void bus_source_withdraw(BusProducer *producer, const char *name) {
        BusSource *source = bus_source_by_name(producer->bus, name);
        ssize_t i = source ? source_find_producer(source, producer) : -1;

        if (i < 0)
                return;
        source->n_producers--;
        memmove(&source->producers[i],
                &source->producers[i + 1],
                (source->n_producers - (size_t)i) * sizeof(source->producers[0]));
        source_mark(source, producer);
}

void bus_source_withdraw_all(BusProducer *producer) {
        for (size_t i = 0; i < producer_n_sources(producer->producer); i++)
                bus_source_withdraw(producer, producer_source_name(producer->producer, i));
}

typedef struct Visit {
        void (*visit)(BusSource *source, void *userdata);
        void *userdata;
} Visit;

static void visit_node(const void *node, VISIT which, void *userdata) {
        const Visit *visit = userdata;

        if (which == postorder || which == leaf)
                visit->visit(*(BusSource *const *)node, visit->userdata);
}

void bus_source_for_each(Bus *bus,
                         void (*visit)(BusSource *source, void *userdata),
                         void *userdata) {
        Visit closure = { visit, userdata };

        twalk_r(bus->sources_by_name, visit_node, &closure);
}

/*
 * What a viewer sees of a source
 */

static bool producer_is_seen(const BusProducer *producer, const Client *viewer) {
        return !viewer || bus_producer_is_visible(producer, viewer);
}

bool bus_source_exists(const BusSource *source, const Client *viewer) {
        if (source->is_permanent)
                return true;
        for (size_t i = 0; i < source->n_producers; i++)
                if (producer_is_seen(source->producers[i], viewer))
                        return true;
        return false;
}

bool bus_source_was_told(const BusSource *source, const Client *viewer) {
        return source->is_permanent || uid_set_is_visible(&source->told, source->bus, viewer);
}

bool bus_source_has_changed(const BusSource *source, const Client *viewer) {
        return uid_set_is_visible(&source->changed, source->bus, viewer);
}

int bus_source_append_producers(sd_bus_message *reply,
                                const BusSource *source,
                                const Client *viewer) {
        int r;

        r = sd_bus_message_open_container(reply, 'a', "o");
        for (size_t i = 0; r >= 0 && i < source->n_producers; i++)
                if (producer_is_seen(source->producers[i], viewer))
                        r = sd_bus_message_append(reply, "o", source->producers[i]->path);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static ssize_t producer_find_source(const Producer *producer, const char *source) {
        for (size_t i = 0; i < producer_n_sources(producer); i++)
                if (streq(producer_source_name(producer, i), source))
                        return (ssize_t)i;
        return -1;
}

static const char *const *producer_categories(const Producer *producer, const char *source) {
        ssize_t i = producer_find_source(producer, source);

        return i < 0 ? NULL : producer_source_categories(producer, (size_t)i);
}

const char *bus_source_unavailable(const BusSource *source, const Client *viewer) {
        const char *why = NULL;
        size_t n_seen = 0;

        for (size_t i = 0; i < source->n_producers; i++) {
                const Producer *producer = source->producers[i]->producer;
                ssize_t at = producer_find_source(producer, source->name);

                if (at < 0 || !producer_is_seen(source->producers[i], viewer))
                        continue;
                n_seen++;
                why = producer_source_unavailable(producer, (size_t)at);
                if (!why)
                        return NULL;
        }
        return n_seen > 0 ? why : service_activation_error(source->bus->service, source->name);
}

static bool has_events(const BusSource *source) {
        return streq(source->name, TRACING_EVENTS_SOURCE);
}

bool bus_source_has_names(const BusSource *source) {
        for (size_t i = 0; i < source->n_producers; i++) {
                const char *const *names =
                        producer_categories(source->producers[i]->producer, source->name);

                if (names && names[0])
                        return true;
        }
        return false;
}

typedef struct NameList {
        const char **names;
        size_t n, n_allocated;
} NameList;

static int name_list_add(NameList *list, const char *name) {
        if (list->n == list->n_allocated) {
                const size_t n = MAX(list->n_allocated * 2, (size_t)64);
                const char **names = reallocarray(list->names, n, sizeof(*names));

                if (!names)
                        return -ENOMEM;
                list->names = names;
                list->n_allocated = n;
        }
        list->names[list->n++] = name;
        return 0;
}

static int compare_names(const void *a, const void *b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void name_list_sort(NameList *list) {
        size_t n = 0;

        if (list->n > 0)
                qsort(list->names, list->n, sizeof(*list->names), compare_names);
        for (size_t i = 0; i < list->n; i++)
                if (i == 0 || !streq(list->names[i], list->names[n - 1]))
                        list->names[n++] = list->names[i];
        list->n = n;
}

int bus_source_categories(const char ***ret,
                          size_t *ret_n,
                          const BusSource *source,
                          const Client *viewer) {
        NameList list = {};

        /* There may be thousands; ListEvents() has them. */
        for (size_t i = 0; i < source->n_producers && !has_events(source); i++) {
                const BusProducer *producer = source->producers[i];
                const char *const *at;

                if (!producer_is_seen(producer, viewer))
                        continue;
                at = producer_categories(producer->producer, source->name);
                for (; at && *at; at++)
                        if (name_list_add(&list, *at) < 0) {
                                free(list.names);
                                return -ENOMEM;
                        }
        }
        name_list_sort(&list);
        *ret = list.names;
        *ret_n = list.n;
        return 0;
}

bool bus_source_has_long_categories(const BusSource *source) {
        size_t n = 0;

        for (size_t i = 0; i < source->n_producers && !has_events(source); i++) {
                const char *const *at =
                        producer_categories(source->producers[i]->producer, source->name);

                for (; at && *at && n <= SOURCE_SIGNAL_CATEGORIES_BYTES_MAX; at++)
                        n += strlen(*at) + 1;
        }
        return n > SOURCE_SIGNAL_CATEGORIES_BYTES_MAX;
}

/* Without memory, clients do not get every change; the next signal has the rest. */
void bus_source_note_told(BusSource *source) {
        uid_set_clear(&source->changed);
        uid_set_clear(&source->told);
        for (size_t i = 0; i < source->n_producers; i++)
                uid_set_add(&source->told, producer_identity(source->producers[i]->producer)->uid);
}
