/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "lib/source-private.h"
#include "shared/utf8.h"

#define UNAVAILABLE_BYTES_MAX 1024
#define CATEGORY_BYTES_MAX    1024
#define NAME_BYTES_MAX        128 /* what the service takes */

/* For a thread that cannot be woken up, because the program has closed the descriptor for that. */
#define UNREGISTER_WAIT_S 1

/*
 * Options
 */

static char **categories_free(char **categories) {
        for (char **at = categories; at && *at; at++)
                free(*at);
        free(categories);
        return NULL;
}

static int categories_copy(char ***ret, const char *const *categories) {
        char **copy;
        size_t n = 0;

        *ret = NULL;
        if (!categories)
                return 0;
        while (categories[n])
                n++;
        copy = calloc(n + 1, sizeof(*copy));
        if (!copy)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                copy[i] = utf8_copy_line(categories[i], CATEGORY_BYTES_MAX);
                if (!copy[i]) {
                        categories_free(copy);
                        return -ENOMEM;
                }
        }
        *ret = copy;
        return 0;
}

/* Takes over a copy of everything, or nothing. */
static int copy_options(dt_source *source, const dt_source_options *options) {
        _cleanup_(bytes_deinit) Bytes descriptor = { 0 }, fields = { 0 };
        _cleanup_(freep) char *unavailable = NULL;
        char **categories;

        if (!options)
                return 0;
        if (options->unavailable &&
            !(unavailable = utf8_copy_line(options->unavailable, UNAVAILABLE_BYTES_MAX)))
                return -ENOMEM;
        if (bytes_append(&descriptor, options->descriptor, options->n_descriptor) < 0 ||
            bytes_append(&fields,
                         options->packet_fields,
                         options->n_packet_fields * sizeof(uint32_t)) < 0 ||
            categories_copy(&categories, options->categories) < 0)
                return -ENOMEM;
        bytes_deinit(&source->descriptor);
        bytes_deinit(&source->packet_fields);
        categories_free(source->categories);
        source->descriptor = descriptor;
        source->packet_fields = fields;
        descriptor = fields = (Bytes){ 0 };
        source->categories = categories;
        free(source->unavailable);
        source->unavailable = TAKE(unavailable);
        source->no_flush = options->no_flush;
        return 0;
}

static dt_source *source_free(dt_source *source) {
        if (!source)
                return NULL;
        bytes_deinit(&source->descriptor);
        bytes_deinit(&source->packet_fields);
        categories_free(source->categories);
        free(source->unavailable);
        free(source->name);
        free(source);
        return NULL;
}
DEFINE_CLEANUP(dt_source *, source_free)

/*
 * The list
 */

dt_source *source_find(const char *name) {
        dt_source *source;

        list_for_each (source, &library.sources, link)
                if (streq(source->name, name) && !source->doomed)
                        return source;
        return NULL;
}

void source_set_dirty(dt_source *source) {
        source->registered_on = 0;
        library.sources_changed = true;
        library_wake();
}

static int source_new(dt_source **ret,
                      const char *name,
                      const dt_source_options *options,
                      const dt_source_ops *ops,
                      void *userdata) {
        _cleanup_(source_freep) dt_source *source = calloc(1, sizeof(*source));

        if (!source)
                return -ENOMEM;
        source->ops = ops;
        source->userdata = userdata;
        list_init(&source->link);
        list_init(&source->instances);
        source->name = strdup(name);
        if (!source->name || copy_options(source, options) < 0)
                return -ENOMEM;
        *ret = TAKE(source);
        return 0;
}

/* As the service wants it: who offers one that it refuses would not be recorded at all. */
static bool name_is_valid(const char *name) {
        size_t n = name ? strnlen(name, NAME_BYTES_MAX + 1) : 0;

        for (size_t i = 0; i < n; i++)
                if (name[i] < ' ' || name[i] > '~')
                        return false;
        return n > 0 && n <= NAME_BYTES_MAX;
}

DT_EXPORT int dt_source_register(dt_source **ret,
                                 const char *name,
                                 const dt_source_options *options,
                                 const dt_source_ops *ops,
                                 void *userdata) {
        _cleanup_(source_freep) dt_source *source = NULL;
        int r;

        if (!name_is_valid(name) || !ops || !ops->setup)
                return -EINVAL;
        if (library_inert())
                return -ECANCELED;
        r = source_new(&source, name, options, ops, userdata);
        if (r < 0)
                return r;

        library_lock();
        r = source_find(name) ? -EEXIST : library_start();
        if (r == 0) {
                *ret = source;
                list_append(&library.sources, &source->link);
                source_set_dirty(TAKE(source));
        }
        library_unlock();
        return r;
}

DT_EXPORT int dt_source_update(dt_source *source, const dt_source_options *options) {
        int r;

        if (library_inert())
                return 0;
        library_lock();
        r = copy_options(source, options);
        if (r == 0)
                source_set_dirty(source);
        library_unlock();
        return r;
}

/* With the lock held. False: the thread has not come by, as nobody could wake it. */
static bool wait_for_removal(dt_source *source) {
        struct timespec deadline;
        bool is_woken = library_wake();
        int r = 0;

        clock_gettime(CLOCK_MONOTONIC, &deadline);
        deadline.tv_sec += UNREGISTER_WAIT_S;
        while (!source->removed && r == 0)
                r = is_woken ? pthread_cond_wait(&library.removed, &library.lock)
                             : pthread_cond_timedwait(&library.removed, &library.lock, &deadline);
        return source->removed;
}

DT_EXPORT void dt_source_unregister(dt_source *source) {
        static const dt_source_ops nothing = { 0 };
        bool is_removed;
        int cancel_state;

        if (!source || library_inert()) /* in a forked child: not worth a race */
                return;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
        library_lock();
        source->doomed = true;
        is_removed = wait_for_removal(source);
        if (!is_removed) { /* it sleeps, and will find this when it wakes up */
                source->ops = &nothing;
                source->is_orphan = true;
        }
        library_unlock();
        pthread_setcancelstate(cancel_state, NULL);
        if (is_removed)
                source_free(source);
}

static dt_source *take_doomed(void) {
        dt_source *source, *found = NULL;

        library_lock();
        list_for_each (source, &library.sources, link)
                if (source->doomed)
                        found = source;
        if (found)
                list_unlink(&found->link);
        library_unlock();
        return found;
}

void sources_remove_doomed(void) {
        dt_source *source;

        while ((source = take_doomed())) {
                dt_instance *instance;
                bool is_orphan;

                list_for_each (instance, &source->instances, source_link)
                        instance_end(instance);
                for (unsigned i = 0; i < library.n_connections; i++)
                        if (source->registered_on & 1u << i)
                                connection_source_removed(library.connections[i], source->name);
                library_lock();
                source->removed = true;
                is_orphan = source->is_orphan;
                pthread_cond_broadcast(&library.removed);
                library_unlock();
                if (is_orphan)
                        source_free(source);
        }
}

DT_EXPORT bool dt_source_enabled(const dt_source *source) {
        return atomic_load_explicit(&source->n_recording, memory_order_relaxed) > 0;
}

DT_EXPORT int dt_set_producer(const char *name, size_t shared_memory_bytes, size_t page_bytes) {
        char *copy = NULL;

        if (page_bytes % 1024 != 0 || shared_memory_bytes > SMB_PAGES_BYTES_MAX ||
            page_bytes > SMB_PAGE_BYTES_MAX || (name && !name[0]))
                return -EINVAL;
        if (library_inert())
                return -EBUSY;
        if (name && !(copy = library_plain_name(name)))
                return -ENOMEM;
        library_lock();
        if (library.started) {
                library_unlock();
                free(copy);
                return -EBUSY;
        }
        free(library.name);
        library.name = copy;
        library.shared_memory_bytes = shared_memory_bytes;
        library.page_bytes = page_bytes;
        library_unlock();
        return 0;
}

/*
 * Registration
 */

static int append_array(sd_bus_message *call, const char *name, char type, const Bytes *elements) {
        const char variant[] = { 'a', type, 0 };
        int r;

        if (elements->n == 0)
                return 0;
        r = sd_bus_message_open_container(call, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(call, "s", name);
        if (r >= 0)
                r = sd_bus_message_open_container(call, 'v', variant);
        if (r >= 0)
                r = sd_bus_message_append_array(call, type, elements->data, elements->n);
        if (r >= 0)
                r = sd_bus_message_close_container(call);
        if (r >= 0)
                r = sd_bus_message_close_container(call);
        return r;
}

static int append_details(sd_bus_message *call, const dt_source *source) {
        int r;

        r = append_array(call, "descriptor", 'y', &source->descriptor);
        if (r >= 0)
                r = append_array(call, "packet-fields", 'u', &source->packet_fields);
        if (r < 0)
                return r;
        if (source->no_flush) {
                r = sd_bus_message_append(call, "{sv}", "no-flush", "b", 1);
                if (r < 0)
                        return r;
        }
        if (source->unavailable) {
                r = sd_bus_message_append(call, "{sv}", "unavailable", "s", source->unavailable);
                if (r < 0)
                        return r;
        }
        if (!source->categories)
                return 0;
        r = sd_bus_message_open_container(call, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(call, "s", "categories");
        if (r >= 0)
                r = sd_bus_message_open_container(call, 'v', "as");
        if (r >= 0)
                r = sd_bus_message_append_strv(call, source->categories);
        if (r >= 0)
                r = sd_bus_message_close_container(call);
        if (r >= 0)
                r = sd_bus_message_close_container(call);
        return r;
}

static int append_source(sd_bus_message *call, dt_source *source, unsigned connection) {
        int r;

        r = sd_bus_message_append(call, "s", source->name);
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(call, 'a', "{sv}");
        if (r < 0)
                return r;
        r = append_details(call, source);
        if (r < 0)
                return r;
        source->registered_on |= 1u << connection;
        return sd_bus_message_close_container(call);
}

int sources_append(sd_bus_message *call, unsigned connection) {
        dt_source *source;
        int r;

        r = sd_bus_message_open_container(call, 'a', "(sa{sv})");
        if (r < 0)
                return r;
        list_for_each (source, &library.sources, link) {
                r = sd_bus_message_open_container(call, 'r', "sa{sv}");
                if (r >= 0)
                        r = append_source(call, source, connection);
                if (r >= 0)
                        r = sd_bus_message_close_container(call);
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(call);
}

int sources_append_next(sd_bus_message *call, unsigned connection) {
        dt_source *source;

        list_for_each (source, &library.sources, link) {
                int r;

                if (source->registered_on & 1u << connection || source->doomed)
                        continue;
                r = append_source(call, source, connection);
                return r < 0 ? r : 1;
        }
        return 0;
}

void sources_forget_registration(unsigned connection) {
        dt_source *source;

        library_lock();
        list_for_each (source, &library.sources, link)
                source->registered_on &= ~(1u << connection);
        library_unlock();
}
