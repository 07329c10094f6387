/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "shared/log-user.h"

#define LOG_TEXT_BYTES 1024

typedef struct LogCount {
        uid_t uid;
        uint64_t until_ns; /* 0: unused */
        unsigned n_lines, n_suppressed;
} LogCount;

static LogCount counts[LOG_USERS_MAX];

static uint64_t now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void count_end(LogCount *count) {
        if (count->n_suppressed > 0)
                log_notice("%u messages of user %u suppressed",
                           count->n_suppressed,
                           (unsigned)count->uid);
        *count = (LogCount){};
}

uint64_t log_users_deadline(void) {
        uint64_t deadline = UINT64_MAX;

        for (size_t i = 0; i < LOG_USERS_MAX; i++)
                if (counts[i].n_suppressed > 0)
                        deadline = MIN(deadline, counts[i].until_ns);
        return deadline;
}

void log_users_tick(uint64_t now) {
        for (size_t i = 0; i < LOG_USERS_MAX; i++)
                if (counts[i].until_ns > 0 && counts[i].until_ns <= now)
                        count_end(&counts[i]);
}

/* The user's, or else a new one; when none is left, one that another user has. */
static LogCount *count_of(uid_t uid, uint64_t now) {
        LogCount *unused = NULL;

        for (size_t i = 0; i < LOG_USERS_MAX; i++) {
                if (counts[i].until_ns > 0 && counts[i].uid == uid)
                        return &counts[i];
                if (counts[i].until_ns == 0)
                        unused = unused ?: &counts[i];
        }
        if (!unused)
                return &counts[uid % LOG_USERS_MAX];
        *unused = (LogCount){ .uid = uid, .until_ns = now + LOG_USER_INTERVAL_NS };
        return unused;
}

void log_user_write(uid_t uid, int level, const char *format, ...) {
        const uint64_t now = now_ns();
        char text[LOG_TEXT_BYTES];
        LogCount *count;
        va_list arguments;

        log_users_tick(now);
        count = count_of(uid, now);
        if (count->n_lines++ >= LOG_USER_LINES_MAX) {
                if (count->n_suppressed++ == 0)
                        log_notice("more messages of user %u are suppressed for %u seconds",
                                   (unsigned)count->uid,
                                   (unsigned)((count->until_ns - now) / UINT64_C(1000000000)));
                level = LOG_DEBUG;
        }
        va_start(arguments, format);
        vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        log_at(level, "%s", text);
}
