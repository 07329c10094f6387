/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Track names: the names and ranks that the program has set for itself and its threads */

#include <errno.h>
#include <pthread.h>

#include "lib/library.h"
#include "lib/source-private.h"
#include "lib/track-names.h"
#include "lib/track-text.h"

/* perfetto.protos.ProcessDescriptor */
enum {
        PROCESS_NAME = 6,
        PROCESS_LABELS = 8,
};

typedef char Label[DT_LABEL_BYTES_MAX + 1];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock. */
static Label name; /* "": the short name */
static Label labels[DT_PROCESS_LABELS_MAX];
static size_t n_labels;

static _Atomic int32_t process_rank;

static void label_set(Label label, const char *text) {
        size_t n = text ? track_text_cut(text, DT_LABEL_BYTES_MAX) : 0;

        memcpy(label, text ?: "", n);
        label[n] = '\0';
}

void track_names_put(WireWriter *packet) {
        library_lock_mutex(&lock);
        wire_put_string(packet, PROCESS_NAME, name[0] ? name : program_invocation_short_name);
        for (size_t i = 0; i < n_labels; i++)
                wire_put_string(packet, PROCESS_LABELS, labels[i]);
        library_unlock_mutex(&lock);
}

int32_t track_process_rank(void) {
        return atomic_load_explicit(&process_rank, memory_order_relaxed);
}

void track_names_set(const char *text) {
        library_lock_mutex(&lock);
        label_set(name, text);
        library_unlock_mutex(&lock);
}

void track_names_set_labels(const char *const *texts, size_t n_texts) {
        library_lock_mutex(&lock);
        n_labels = texts ? MIN(n_texts, (size_t)DT_PROCESS_LABELS_MAX) : 0;
        for (size_t i = 0; i < n_labels; i++)
                label_set(labels[i], texts[i]);
        library_unlock_mutex(&lock);
}

void track_names_set_rank(int32_t rank) {
        atomic_store_explicit(&process_rank, rank, memory_order_relaxed);
}
