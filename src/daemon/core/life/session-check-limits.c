/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks of times, guardrails and how many sessions a user may have. */

#include <stdio.h>

#include "core/life/check.h"
#include "core/model/service.h"

uint64_t check_duration_max_ms(const Check *check, const char **ret_limit) {
        const bool guarded = check->config->enable_extra_guardrails;

        *ret_limit = guarded ? "SESSION_GUARDED_DURATION_MAX_MS" : "SESSION_DURATION_MAX_MS";
        return guarded ? SESSION_GUARDED_DURATION_MAX_MS : SESSION_DURATION_MAX_MS;
}

int check_times(const Check *check) {
        const char *limit;
        const uint64_t max_ms = check_duration_max_ms(check, &limit);
        const struct {
                const char *field;
                uint64_t value, max;
                const char *limit;
        } times[] = {
                { "duration_ms", check->config->duration_ms, max_ms, limit },
                { "flush_timeout_ms",
                  check->config->flush_timeout_ms,
                  SESSION_TIMEOUT_MAX_MS,
                  "SESSION_TIMEOUT_MAX_MS" },
                { "data_source_stop_timeout_ms",
                  check->config->data_source_stop_timeout_ms,
                  SESSION_TIMEOUT_MAX_MS,
                  "SESSION_TIMEOUT_MAX_MS" },
        };
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(times) && r == 0; i++)
                r = check_range(
                        check, times[i].field, times[i].value, times[i].max, times[i].limit);
        return r;
}

/* For recordings that start automatically and that nobody watches. An override can raise a limit, but not lower it. */
int check_guardrails(const Check *check) {
        const Perfetto__Protos__TraceConfig__GuardrailOverrides *overrides =
                check->config->guardrail_overrides;
        uint64_t n_kb = 0;

        if (!check->config->enable_extra_guardrails)
                return 0;
        if (check->config->deferred_start)
                return check_refuse(check,
                                    SESSION_E_CONFIG,
                                    "deferred_start and enable_extra_guardrails are mutually "
                                    "exclusive: no one would start the session");
        for (size_t i = 0; i < check->config->n_buffers; i++)
                n_kb += check->config->buffers[i]->size_kb;
        return check_range(check,
                           "the size of all buffers in KiB, with enable_extra_guardrails,",
                           n_kb,
                           MAX(SESSION_GUARDED_BUFFERS_MAX_KB,
                               overrides ? overrides->max_tracing_buffer_size_kb : 0),
                           "SESSION_GUARDED_BUFFERS_MAX_KB or "
                           "guardrail_overrides.max_tracing_buffer_size_kb");
}

int check_quota(const Check *check, QuotaSlot slot, uint64_t n) {
        char why[QUOTA_WHY_BYTES];

        if (quota_has_room(&check->service->quota, check->user, slot, n))
                return 0;
        quota_explain(&check->service->quota, why, check->user, slot, n);
        check->error->is_quota = true;
        return check_refuse(check, SESSION_E_LIMIT, "%s", why);
}

int check_sessions(const Check *check) {
        return check_quota(check, QUOTA_SESSIONS, 1);
}
