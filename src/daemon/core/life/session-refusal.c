/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Why a session is refused, in words. */

#include <stdarg.h>
#include <stdio.h>

#include "core/life/check.h"
#include "core/model/service.h"

int session_error(SessionError *error, int outcome, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(error->message, sizeof(error->message), format, arguments);
        va_end(arguments);
        return outcome;
}

int check_range(const Check *check,
                const char *field,
                uint64_t value,
                uint64_t max,
                const char *limit) {
        if (value <= max)
                return 0;
        return session_error(check->error,
                             SESSION_E_LIMIT,
                             "%s is %llu, which exceeds the limit %s of %llu",
                             field,
                             (unsigned long long)value,
                             limit,
                             (unsigned long long)max);
}

int session_error_quota(const Session *session, SessionError *error, QuotaSlot slot, uint64_t n) {
        char why[QUOTA_WHY_BYTES];

        quota_explain(&session->service->quota, why, session->user, slot, n);
        error->is_quota = true;
        return session_error(error, SESSION_E_LIMIT, "%s", why);
}
