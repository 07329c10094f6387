/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Startup: how keeping ends, and when events that nobody took are dropped */

#include <sys/mman.h>

#include "lib/startup.h"

void startup_end(void) {
        startup.is_keeping = false;
        track_apply_categories();
}

void startup_expire(uint64_t now_ns) {
        bool is_over;

        if (now_ns < atomic_load_explicit(&startup.deadline_ns, memory_order_relaxed))
                return;
        track_lock();
        /* A session that has started gets the events, on the library's thread. */
        is_over = startup.is_keeping && !startup_interests_any();
        if (is_over)
                startup_end();
        track_unlock();
        if (is_over) {
                startup_close();
                startup_forget();
        }
}

void startup_forget(void) {
        madvise(startup.memory, startup.n_bytes, MADV_DONTNEED);
}

/* From here on, a thread whose event is not kept sees this, and gives the event to the sessions instead. */
static void close_losses(void) {
        for (unsigned i = 0; i < DT_CATEGORIES_MAX; i++)
                atomic_fetch_or_explicit(
                        &startup.n_lost[i], STARTUP_LOST_CLOSED, memory_order_acq_rel);
}

StartupLog *startup_close(void) {
        StartupLog *first = atomic_exchange(&startup.logs, &startup_closed);

        for (StartupLog *log = first; log; log = log->next)
                atomic_fetch_or_explicit(&log->end, STARTUP_CLOSED, memory_order_acq_rel);
        close_losses();
        return first;
}
