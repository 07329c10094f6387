/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Log user: bounds how many lines the programs of one user can cause */

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "shared/log-user.h"

#define LOG_TEXT_BYTES 1024

typedef struct LogCount {
        uid_t user;
        uint64_t until_ns; /* 0: unused */
        unsigned n_lines, n_suppressed;
} LogCount;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards everything below */
static LogCount counts[LOG_USERS_MAX];
static uid_t (*find_user)(void *userdata, uid_t uid);
static void *find_user_userdata;

void log_users_count_by(uid_t (*user_of)(void *userdata, uid_t uid), void *userdata) {
        pthread_mutex_lock(&lock);
        find_user = user_of;
        find_user_userdata = userdata;
        pthread_mutex_unlock(&lock);
}

static uint64_t now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void count_end(LogCount *count) {
        if (count->n_suppressed > 0)
                log_notice("%u messages of user %u suppressed",
                           count->n_suppressed,
                           (unsigned)count->user);
        *count = (LogCount){};
}

uint64_t log_users_deadline(void) {
        uint64_t deadline = UINT64_MAX;

        pthread_mutex_lock(&lock);
        for (size_t i = 0; i < LOG_USERS_MAX; i++)
                if (counts[i].n_suppressed > 0)
                        deadline = MIN(deadline, counts[i].until_ns);
        pthread_mutex_unlock(&lock);
        return deadline;
}

static void counts_tick(uint64_t now) {
        for (size_t i = 0; i < LOG_USERS_MAX; i++)
                if (counts[i].until_ns > 0 && counts[i].until_ns <= now)
                        count_end(&counts[i]);
}

void log_users_tick(uint64_t now) {
        pthread_mutex_lock(&lock);
        counts_tick(now);
        pthread_mutex_unlock(&lock);
}

/* The user's count, or a new one; if none is left, one that is shared with another user. */
static LogCount *count_of(uid_t user, uint64_t now) {
        LogCount *unused = NULL;

        for (size_t i = 0; i < LOG_USERS_MAX; i++) {
                if (counts[i].until_ns > 0 && counts[i].user == user)
                        return &counts[i];
                if (counts[i].until_ns == 0)
                        unused = unused ?: &counts[i];
        }
        if (!unused)
                return &counts[user % LOG_USERS_MAX];
        *unused = (LogCount){ .user = user, .until_ns = now + LOG_USER_INTERVAL_NS };
        return unused;
}

/* Whether the line is one too many. */
static bool count_line(uid_t uid) {
        const uint64_t now = now_ns();
        LogCount *count;
        bool is_suppressed;

        pthread_mutex_lock(&lock);
        counts_tick(now);
        count = count_of(find_user ? find_user(find_user_userdata, uid) : uid, now);
        is_suppressed = count->n_lines++ >= LOG_USER_LINES_MAX;
        if (is_suppressed && count->n_suppressed++ == 0)
                log_notice("more messages of user %u are suppressed for %u seconds",
                           (unsigned)count->user,
                           (unsigned)((count->until_ns - now) / UINT64_C(1000000000)));
        pthread_mutex_unlock(&lock);
        return is_suppressed;
}

void log_user_write(uid_t uid, int level, const char *format, ...) {
        char text[LOG_TEXT_BYTES];
        va_list arguments;

        if (count_line(uid))
                level = LOG_DEBUG;
        va_start(arguments, format);
        vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        log_at(level, "%s", text);
}
