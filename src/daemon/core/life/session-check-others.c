/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Conflicts with other sessions. Stopped ones, including clones, only keep their data and conflict with nobody.
 */

#include <stdio.h>

#include "core/life/check.h"
#include "core/model/recent.h"
#include "core/model/session-names.h"

/* A session with a higher priority than the running one may end it; session_new() does. */
int check_exclusive(const Check *check) {
        const Session *other;

        list_for_each (other, &check->service->sessions, link) {
                uint32_t prio = other->config->pb->exclusive_prio;

                if (other->state == SESSION_STOPPED || prio == 0 ||
                    check->config->exclusive_prio > prio)
                        continue;
                return check_refuse(
                        check,
                        SESSION_E_BUSY,
                        "another session runs with exclusive_prio and keeps all others out: wait "
                        "until it ends");
        }
        return 0;
}

/* People and scripts find their sessions by name, so a name is unique. */
int check_name(const Check *check) {
        const char *name = check->config->unique_session_name;
        const Session *other;
        int r;

        if (!name || !name[0])
                return 0;
        r = check_range(check,
                        "the length of unique_session_name",
                        strlen(name),
                        SESSION_NAME_MAX,
                        "SESSION_NAME_MAX");
        if (r)
                return r;
        other = session_find_own(check->service, check->options->owner.uid, name);
        if (other && other->state != SESSION_STOPPED)
                return check_refuse(check,
                                    SESSION_E_NAME_IN_USE,
                                    "a session named \"%.128s\" is already running",
                                    name);
        return 0;
}

typedef Perfetto__Protos__TraceConfig__SessionSemaphore Semaphore;

/* An earlier entry than the nth with this name, or NULL. */
static const Semaphore *config_find_semaphore(const ConfigPb *config, const char *name, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (streq(config->session_semaphores[i]->name ?: "", name))
                        return config->session_semaphores[i];
        return NULL;
}

/* The strictest limit counts, of the user's sessions with that name and of the new one. */
static int check_semaphore_room(const Check *check, const Semaphore *wanted) {
        uint64_t max = wanted->max_other_session_count, n = 0;
        const Session *other;

        list_for_each (other, &check->service->sessions, link) {
                const ConfigPb *config = other->config->pb;
                const Semaphore *held =
                        config_find_semaphore(config, wanted->name, config->n_session_semaphores);

                if (!held || other->state == SESSION_STOPPED ||
                    other->options.owner.uid != check->options->owner.uid)
                        continue;
                max = MIN(max, held->max_other_session_count);
                n++;
        }
        if (n <= max)
                return 0;
        return check_refuse(check,
                            SESSION_E_BUSY,
                            "%llu sessions hold the semaphore \"%.128s\", and only %llu may do so "
                            "beside this one: wait until one ends",
                            (unsigned long long)n,
                            wanted->name,
                            (unsigned long long)max);
}

static int check_semaphore(const Check *check, size_t i) {
        const Semaphore *wanted = check->config->session_semaphores[i];
        int r;

        if (!wanted->name || !wanted->name[0])
                return check_refuse(
                        check, SESSION_E_CONFIG, "session_semaphores[%zu] has no name", i);
        r = check_range(check,
                        "the length of a semaphore's name",
                        strlen(wanted->name),
                        SESSION_NAME_MAX,
                        "SESSION_NAME_MAX");
        if (r)
                return r;
        if (config_find_semaphore(check->config, wanted->name, i))
                return check_refuse(check,
                                    SESSION_E_CONFIG,
                                    "two session_semaphores are named \"%.128s\"",
                                    wanted->name);
        return check_semaphore_room(check, wanted);
}

int check_semaphores(const Check *check) {
        int r;

        r = check_range(check,
                        "the number of session_semaphores",
                        check->config->n_session_semaphores,
                        SESSION_SEMAPHORES_MAX,
                        "SESSION_SEMAPHORES_MAX");
        for (size_t i = 0; i < check->config->n_session_semaphores && r == 0; i++)
                r = check_semaphore(check, i);
        return r;
}

/* A trigger that keeps firing must not start recording after recording. */
int check_recent(const Check *check) {
        const char *name = check->config->unique_session_name ?: "";
        uid_t uid = check->options->owner.uid;
        uint64_t age_ns;

        if (!check->config->enable_extra_guardrails)
                return 0;
        age_ns = recent_age_ns(check->service, uid, name, check->now);
        if (age_ns < SESSION_GUARDED_GAP_NS)
                return check_refuse(
                        check,
                        SESSION_E_BUSY,
                        "with enable_extra_guardrails: a session named \"%.128s\" started %llu s "
                        "ago; the next one may start in %llu s",
                        name,
                        (unsigned long long)(age_ns / 1000000000),
                        (unsigned long long)((SESSION_GUARDED_GAP_NS - age_ns) / 1000000000) + 1);
        if (recent_has_old(check->service, uid, check->now))
                return 0; /* which goes when this one is remembered */
        return check_quota(check, QUOTA_RECENT_SESSIONS, 1);
}
