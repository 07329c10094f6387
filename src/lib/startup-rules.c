/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Startup rules: which categories are kept before a session exists */

#include "lib/category-rules.h"
#include "lib/startup.h"

Startup startup;
StartupLog startup_closed;

static bool wants(const Bytes *rules, const dt_category *category) {
        return category_rules_enable(rules->data, rules->n, category->name, category->tags);
}

static dt_category *category_copy(const dt_category *category) {
        size_t n_name = strlen(category->name) + 1;
        size_t n_tags = category->tags ? strlen(category->tags) + 1 : 0;
        dt_category *copy = calloc(1, sizeof(*copy) + n_name + n_tags);
        char *texts;

        if (!copy)
                return NULL;
        texts = (char *)(copy + 1);
        copy->number = category->number;
        copy->name = memcpy(texts, category->name, n_name);
        if (category->tags)
                copy->tags = memcpy(texts + n_name, category->tags, n_tags);
        return copy;
}

static bool is_recorded(const dt_category *category) {
        for (unsigned i = 0; i < DT_SESSIONS_MAX; i++)
                if (track_sessions[i].started && wants(&track_sessions[i].config, category))
                        return true;
        return false;
}

bool startup_keeps(const dt_category *category) {
        _Atomic(dt_category *) *place;
        const dt_category *copy;

        if (!startup.is_keeping || category->number >= DT_CATEGORIES_MAX ||
            !wants(&startup.rules, category))
                return false;
        place = &startup.categories[category->number];
        if (!atomic_load_explicit(place, memory_order_relaxed)) {
                /* A category that is registered while a session exists is not kept: if the program ended soon,
                 * its kept events would be lost. */
                if (is_recorded(category))
                        return false;
                atomic_store_explicit(place, category_copy(category), memory_order_release);
        }
        copy = atomic_load_explicit(place, memory_order_relaxed);
        /* Otherwise the category has the number of one that is gone, whose events are in the logs. */
        return copy && streq(copy->name, category->name);
}

bool startup_interests(const TrackSession *session) {
        if (!startup.is_keeping || !session->started)
                return false;
        for (unsigned i = 0; i < DT_CATEGORIES_MAX; i++) {
                const dt_category *category =
                        atomic_load_explicit(&startup.categories[i], memory_order_relaxed);

                if (category && wants(&session->config, category))
                        return true;
        }
        return false;
}

bool startup_interests_any(void) {
        for (unsigned i = 0; i < DT_SESSIONS_MAX; i++)
                if (startup_interests(&track_sessions[i]))
                        return true;
        return false;
}

uint32_t startup_n_open(const TrackKept *kept, const TrackSession *session) {
        uint32_t n = 0;

        if (!kept || !session->continues_startup)
                return 0;
        for (const dt_category *at = track_categories; at; at = at->next)
                if (at->number < DT_CATEGORIES_MAX && kept->open[at->number] > 0 &&
                    wants(&session->config, at))
                        n += kept->open[at->number];
        return n;
}
