/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What a config may ask for. The checks are a table, run in order, none of which changes anything; the first that
 * fails says what was asked, what is wrong with it and, for a limit, its name.
 */

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/life/check.h"
#include "core/life/session-check.h"
#include "core/model/policy.h"
#include "core/model/service.h"
#include "core/model/session-filter.h"

/* A file name that other programs will use: one component, without any character that is special to a shell. */
static int check_bugreport_filename(const Check *check) {
        const char *name = check->config->bugreport_filename ?: "";
        static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789-_.";

        if (name[strspn(name, allowed)])
                return check_refuse(check,
                                    SESSION_E_CONFIG,
                                    "bugreport_filename \"%.64s\" may contain only letters, "
                                    "digits, \"-\", \"_\" and \".\"",
                                    name);
        return check_range(
                check, "the length of bugreport_filename", strlen(name), NAME_MAX, "NAME_MAX");
}

/* Unknown numbers come from newer configs. Ignoring them would do something else than was asked. */
static int check_choices(const Check *check) {
        const struct {
                const char *field;
                int value, max;
                const char *known;
        } choices[] = {
                { "lockdown_mode",
                  (int)check->config->lockdown_mode,
                  PERFETTO__PROTOS__TRACE_CONFIG__LOCKDOWN_MODE_OPERATION__LOCKDOWN_SET,
                  N_("LOCKDOWN_UNCHANGED, LOCKDOWN_CLEAR or LOCKDOWN_SET") },
                { "write_flush_mode",
                  (int)check->config->write_flush_mode,
                  PERFETTO__PROTOS__TRACE_CONFIG__WRITE_FLUSH_MODE__WRITE_FLUSH_ENABLED,
                  N_("WRITE_FLUSH_AUTO, WRITE_FLUSH_DISABLED or WRITE_FLUSH_ENABLED") },
                { "fflush_post_write",
                  (int)check->config->fflush_post_write,
                  PERFETTO__PROTOS__TRACE_CONFIG__FFLUSH_MODE__FFLUSH_ENABLED,
                  N_("FFLUSH_DISABLED or FFLUSH_ENABLED") },
        };

        for (size_t i = 0; i < ARRAY_SIZE(choices); i++)
                if (choices[i].value < 0 || choices[i].value > choices[i].max)
                        return check_refuse(check,
                                            SESSION_E_CONFIG,
                                            "%s %d is unknown: it must be %s",
                                            choices[i].field,
                                            choices[i].value,
                                            choices[i].known);
        return 0;
}

/* Lockdown makes the service refuse producers for everybody, even after the session has ended. */
static int check_lockdown(const Check *check) {
        if (!check->config->lockdown_mode ||
            policy_may_lock_down(&check->service->info, &check->options->owner))
                return 0;
        return check_refuse(
                check, SESSION_E_DENIED, "only root may set lockdown_mode: leave it out");
}

/* The priority of a daemon that serves all users is up to the administrator, and would need privileges that the daemon
 * does not have. Settings for a producer in its source's config are passed on unread. */
static int check_priority_boost(const Check *check) {
        const Perfetto__Protos__PriorityBoostConfig *boost = check->config->priority_boost;
        const bool is_fifo =
                boost &&
                boost->policy ==
                        PERFETTO__PROTOS__PRIORITY_BOOST_CONFIG__BOOST_POLICY__POLICY_SCHED_FIFO;

        if (!boost)
                return 0;
        if ((int)boost->policy <= 0 ||
            (int)boost->policy >
                    PERFETTO__PROTOS__PRIORITY_BOOST_CONFIG__BOOST_POLICY__POLICY_SCHED_FIFO)
                return check_refuse(check,
                                    SESSION_E_CONFIG,
                                    "priority_boost.policy %d is unknown: it must be "
                                    "POLICY_SCHED_OTHER or POLICY_SCHED_FIFO",
                                    (int)boost->policy);
        if (boost->priority > (is_fifo ? 99 : 20) || (is_fifo && boost->priority == 0))
                return check_refuse(
                        check,
                        SESSION_E_CONFIG,
                        "priority_boost.priority %u is out of range: it must be between %d and %d",
                        boost->priority,
                        is_fifo ? 1 : 0,
                        is_fifo ? 99 : 20);
        return check_refuse(check,
                            SESSION_E_CONFIG,
                            "a session cannot set priority_boost here: put Nice= or "
                            "CPUSchedulingPolicy= into a drop-in of desktraced.service");
}

static int check_output(const Check *check) {
        if (check->config->output_path && check->config->output_path[0])
                return check_refuse(check,
                                    SESSION_E_CONFIG,
                                    "output_path: the service opens no files; open it yourself and "
                                    "pass the descriptor as \"output\"");
        if (check->config->write_into_file && !check->options->has_output)
                return check_refuse(
                        check,
                        SESSION_E_CONFIG,
                        "write_into_file needs an output: pass a descriptor as \"output\"");
        return 0;
}

/* Compiled only to find errors, like the filters of sources. */
static int check_trace_filter(const Check *check) {
        char why[SESSION_FILTER_WHY_BYTES] = "";
        TraceFilter *filter;
        int r;

        r = session_filter_new(&filter, check->config, why);
        if (r == -EINVAL)
                return check_refuse(
                        check, SESSION_E_CONFIG, "trace_filter cannot be loaded: %s", why);
        trace_filter_free(r == 0 ? filter : NULL);
        return r;
}

/* In the order of Perfetto's service: first errors of the config itself, then conflicts with other sessions, which may
 * be gone at the next try, and limits last. */
static int (*const checks[])(const Check *) = {
        check_times,          check_trigger_mode, check_trigger_times, check_bugreport_filename,
        check_trigger_output, check_triggers,     check_guardrails,    check_buffer_count,
        check_buffer_names,   check_targets,      check_sources,       check_choices,
        check_lockdown,       check_exclusive,    check_name,          check_semaphores,
        check_recent,         check_sessions,     check_trace_filter,  check_priority_boost,
        check_output,         check_buffers,
};

int session_check(Service *service,
                  const Config *config,
                  const SessionOptions *options,
                  SessionError *error,
                  uint64_t now) {
        const Check check = {
                .service = service,
                .config = config->pb,
                .options = options,
                .error = error,
                .now = now,
                .user = service_user_of(service, &options->owner),
        };

        for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
                int r = checks[i](&check);

                if (r)
                        return r;
        }
        return 0;
}
