/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Process names: public functions that set what the program is called in traces */

#include "lib/library.h"
#include "lib/source-private.h"
#include "lib/track-names.h"
#include "lib/track.h"

DT_EXPORT void dt_process_set_name(const char *text) {
        if (library_inert())
                return;
        track_names_set(text);
        track_say_process();
}

DT_EXPORT void dt_process_set_labels(const char *const *texts, size_t n_texts) {
        if (library_inert())
                return;
        track_names_set_labels(texts, n_texts);
        track_say_process();
}

DT_EXPORT void dt_process_set_rank(int32_t rank) {
        if (library_inert())
                return;
        track_names_set_rank(rank);
        track_say_process();
}
