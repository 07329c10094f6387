/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <pthread.h>

#include "lib/library.h"
#include "lib/source-private.h"
#include "lib/track-args.h"
#include "lib/track-names.h"

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

DT_EXPORT void dt_process_set_name(const char *text) {
        if (library_inert())
                return;
        library_lock_mutex(&lock);
        label_set(name, text);
        library_unlock_mutex(&lock);
        track_say_process();
}

DT_EXPORT void dt_process_set_labels(const char *const *texts, size_t n_texts) {
        if (library_inert())
                return;
        library_lock_mutex(&lock);
        n_labels = texts ? MIN(n_texts, (size_t)DT_PROCESS_LABELS_MAX) : 0;
        for (size_t i = 0; i < n_labels; i++)
                label_set(labels[i], texts[i]);
        library_unlock_mutex(&lock);
        track_say_process();
}

DT_EXPORT void dt_process_set_rank(int32_t rank) {
        if (library_inert())
                return;
        atomic_store_explicit(&process_rank, rank, memory_order_relaxed);
        track_say_process();
}
