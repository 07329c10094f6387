/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Categories that are made at run time. Readers take no lock, because entries of the list never change and are never
 * removed. Writers take a lock, so that each name is added only once.
 */

#include <errno.h>
#include <pthread.h>

#include "lib/intern.h"
#include "lib/library.h"
#include "lib/source-private.h"
#include "lib/track-args.h"
#include "shared/utf8.h"

#define HEADS 256

typedef struct Found {
        struct Found *next;
        dt_category category; /* with copies of its texts */
        uint64_t hash;
        size_t n_key;
        char key[]; /* the given name, cut to its significant length */
} Found;

static _Atomic(Found *) heads[HEADS];
static unsigned n_found; /* under the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* It has no number and is in no list, so it is never enabled. */
static const dt_category nobody = { .name = "", .number = DT_CATEGORIES_MAX };

typedef struct Key {
        const char *name;
        size_t n_bytes;
        uint64_t hash;
} Key;

static const dt_category *find(const Key *key) {
        /* acquire: pairs with publish(). */
        const Found *at = atomic_load_explicit(&heads[key->hash % HEADS], memory_order_acquire);

        for (; at; at = at->next)
                if (at->hash == key->hash && at->n_key == key->n_bytes &&
                    memcmp(at->key, key->name, key->n_bytes) == 0)
                        return &at->category;
        return NULL;
}

static Found *found_free(Found *found) {
        if (!found)
                return NULL;
        free((char *)(uintptr_t)found->category.name);
        free((char *)(uintptr_t)found->category.description);
        free((char *)(uintptr_t)found->category.tags);
        free(found);
        return NULL;
}
DEFINE_CLEANUP(Found *, found_free)

/* Copies a text for people; invalid UTF-8 is replaced, as it could not be sent. Returns NULL if there is no text, or
 * no memory. */
static char *copy_text(const char *text, size_t n_max) {
        return text ? utf8_copy_line(text, track_text_cut(text, n_max)) : NULL;
}

static Found *found_new(const Key *key, const char *description, const char *tags) {
        _cleanup_(found_freep) Found *found = calloc(1, sizeof(*found) + key->n_bytes);

        if (!found)
                return NULL;
        found->hash = key->hash;
        found->n_key = key->n_bytes;
        memcpy(found->key, key->name, key->n_bytes);
        found->category.name = copy_text(key->name, DT_LABEL_BYTES_MAX);
        found->category.description = copy_text(description, DT_DESCRIPTION_BYTES_MAX);
        found->category.tags = copy_text(tags, DT_LABEL_BYTES_MAX);
        return found->category.name ? TAKE(found) : NULL;
}

/* Called with the lock held. If a session wants the category, it is enabled before any thread can find it. */
static const dt_category *publish(Found *found) {
        _Atomic(Found *) *head = &heads[found->hash % HEADS];

        n_found++;
        dt_category_register(&found->category);
        found->next = atomic_load_explicit(head, memory_order_relaxed);
        atomic_store_explicit(head, found, memory_order_release);
        return &found->category;
}

static const dt_category *add(const Key *key, const char *description, const char *tags) {
        const dt_category *category;
        Found *found;

        pthread_mutex_lock(&lock);
        category = find(key);
        if (!category && n_found < DT_CATEGORIES_FOUND_MAX) {
                found = found_new(key, description, tags);
                if (found)
                        category = publish(found);
        }
        pthread_mutex_unlock(&lock);
        return category;
}

DT_EXPORT const dt_category *
dt_category_find_or_add(const char *name, const char *description, const char *tags) {
        const dt_category *category;
        int saved_errno = errno;
        Key key = { .name = name };

        if (!name || !name[0] || library_inert())
                return &nobody;
        key.n_bytes = track_text_cut(name, DT_LABEL_BYTES_MAX);
        key.hash = intern_hash(0, name, key.n_bytes);
        category = find(&key) ?: add(&key, description, tags);
        errno = saved_errno;
        return category ?: &nobody;
}
