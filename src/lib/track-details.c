/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Track details: descriptions from dt_track_describe() */

#include <errno.h>
#include <pthread.h>

#include "lib/library.h"
#include "lib/source-private.h"
#include "lib/track-details.h"
#include "lib/track-text.h"

#define HEADS 256

/* The size of the structure's first version: a program that was built with it sets no more. */
#define SIZE_MIN      (offsetof(dt_track_details, is_incremental) + sizeof(bool))
#define SIZE_MAX_SANE 4096

/* The keys of the predefined parents. They are far apart, because a track's id is mixed into its parent's key. */
#define KEY_PROCESS UINT64_C(0x8c7f0d1b5a3e9264)
#define KEY_THREAD  UINT64_C(0x2be14f8693d07ca5)
#define KEY_ROOT    UINT64_C(0xd5926ac03f71b8e8)

typedef struct Described {
        uint64_t key;
        struct Described *next;
        dt_track_details details; /* its texts are copies */
} Described;

static _Atomic(Described *) heads[HEADS];
static unsigned n_described, n_incremental; /* under the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A key is the same in all threads, and before dt_init(). */
static uint64_t track_key(const dt_track *track) {
        return track_hash(track, KEY_PROCESS, KEY_THREAD, KEY_ROOT);
}

static const Described *find(uint64_t key) {
        /* acquire: pairs with add(). */
        const Described *at = atomic_load_explicit(&heads[key % HEADS], memory_order_acquire);

        while (at && at->key != key)
                at = at->next;
        return at;
}

void track_details_get(dt_track_details *ret, const dt_track *track) {
        const Described *described = find(track_key(track));

        *ret = described ? described->details : (dt_track_details){ 0 };
}

/*
 * Adding
 */

typedef struct DetailsText {
        size_t offset; /* of its pointer */
        size_t n_max;
} DetailsText;

static const DetailsText texts[] = {
        { offsetof(dt_track_details, description), DT_DESCRIPTION_BYTES_MAX },
        { offsetof(dt_track_details, merge_key), DT_LABEL_BYTES_MAX },
        { offsetof(dt_track_details, y_axis), DT_LABEL_BYTES_MAX },
        { offsetof(dt_track_details, categories), DT_LABEL_BYTES_MAX },
};

static const char **text_of(dt_track_details *details, size_t i) {
        return (const char **)(void *)((char *)details + texts[i].offset);
}

static Described *described_free(Described *described) {
        if (!described)
                return NULL;
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                free((char *)(uintptr_t)*text_of(&described->details, i));
        free(described);
        return NULL;
}
DEFINE_CLEANUP(Described *, described_free)

/* Copies the members that the program's header has. Members it lacks are zero; members that we do not know are left
 * out. */
static int
read_details(dt_track_details *ret, const dt_track *track, const dt_track_details *from) {
        *ret = (dt_track_details){ 0 };
        if (!track || !track->name || !from || from->size < SIZE_MIN || from->size > SIZE_MAX_SANE)
                return -EINVAL;
        memcpy(ret, from, MIN(from->size, sizeof(*ret)));
        ret->size = sizeof(*ret);
        if (ret->child_order > DT_ORDER_BY_RANK || ret->merge > DT_MERGE_BY_KEY ||
            ret->unit > DT_UNIT_SIZE_BYTES)
                return -EINVAL;
        /* The track belongs to one stream of packets: that of a thread. */
        ret->is_incremental = ret->is_incremental && track->parent == &dt_thread_track;
        return 0;
}

static Described *described_new(uint64_t key, dt_track_details *details) {
        _cleanup_(described_freep) Described *described = calloc(1, sizeof(*described));

        if (!described)
                return NULL;
        described->key = key;
        described->details = *details;
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                *text_of(&described->details, i) = NULL;
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                const char *text = *text_of(details, i);

                if (!text)
                        continue;
                text = strndup(text, track_text_cut(text, texts[i].n_max));
                if (!text)
                        return NULL;
                *text_of(&described->details, i) = text;
        }
        return TAKE(described);
}

static bool text_equal(const char *a, const char *b) {
        return a && b ? streq(a, b) : a == b;
}

static bool details_equal(Described *a, const Described *b) {
        dt_track_details copy = b->details;

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                if (!text_equal(*text_of(&a->details, i), *text_of(&copy, i)))
                        return false;
        return a->details.child_order == copy.child_order && a->details.rank == copy.rank &&
               a->details.merge == copy.merge && a->details.unit == copy.unit &&
               a->details.unit_multiplier == copy.unit_multiplier &&
               a->details.is_incremental == copy.is_incremental;
}

/* With the lock held. Takes ownership on success. */
static int add(Described **described) {
        _Atomic(Described *) *head = &heads[(*described)->key % HEADS];
        const Described *known = find((*described)->key);

        if (known)
                return details_equal(*described, known) ? 0 : -EEXIST;
        if (n_described == DT_TRACKS_DESCRIBED_MAX ||
            (n_incremental == TRACK_COUNTS_MAX && (*described)->details.is_incremental))
                return -ENOSPC;
        n_described++;
        n_incremental += (*described)->details.is_incremental;
        (*described)->next = atomic_load_explicit(head, memory_order_relaxed);
        atomic_store_explicit(head, TAKE(*described), memory_order_release);
        return 0;
}

DT_EXPORT int dt_track_describe(const dt_track *track, const dt_track_details *details) {
        _cleanup_(described_freep) Described *described = NULL;
        dt_track_details known;
        int r;

        if (library_inert())
                return -ECANCELED;
        r = read_details(&known, track, details);
        if (r < 0)
                return r;
        described = described_new(track_key(track), &known);
        if (!described)
                return -ENOMEM;
        pthread_mutex_lock(&lock);
        r = add(&described);
        pthread_mutex_unlock(&lock);
        return r;
}
