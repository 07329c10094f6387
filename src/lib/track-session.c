/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Track sessions: which categories each session records */

#include <errno.h>

#include "lib/category-rules.h"
#include "lib/startup.h"
#include "lib/track.h"

static bool session_wants(const TrackSession *session, const dt_category *category) {
        return session->started && category->number < DT_CATEGORIES_MAX &&
               category_rules_enable(
                       session->config.data, session->config.n, category->name, category->tags);
}

/* A bit for each session that records the category, or the one for keeping, as long as none does. */
static unsigned category_bits(const dt_category *category) {
        unsigned bits = 0;

        if (startup_keeps(category))
                return TRACK_STARTUP_BIT;
        for (unsigned i = 0; i < DT_SESSIONS_MAX; i++)
                bits |= (unsigned)session_wants(&track_sessions[i], category) << i;
        return bits;
}

/* release: a thread that sees a session's bit finds its epoch. */
void track_apply_category(dt_category *category) {
        __atomic_store_n(&category->enabled, category_bits(category), __ATOMIC_RELEASE);
}

void track_apply_categories(void) {
        for (dt_category *category = track_categories; category; category = category->next)
                track_apply_category(category);
}

int track_attach(TrackSequence *sequence, unsigned number, const TrackKept *kept) {
        TrackSession *session = &track_sessions[number];
        int r = -ESHUTDOWN;

        track_lock();
        sequence->session = session;
        sequence->stream = session->stream;
        sequence->epoch = atomic_load(&session->epoch);
        sequence->depth = startup_n_open(kept, session);
        sequence->n_missing = 0;
        if (session->instance)
                r = dt_writer_new(&sequence->writer, session->instance, DT_FULL_DEFAULT);
        track_unlock();
        return r;
}
