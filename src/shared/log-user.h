/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Log lines about what the programs of one user do
 *
 * Peers must not be able to fill the log, neither with one connection, nor by connecting again and again, nor with
 * many uids. So these lines are counted by login user, and the counts outlive the connections: in each interval the
 * first few lines are written and the others suppressed, and at its end the log reports how many were. At level debug
 * nothing is suppressed. From any thread.
 */

#include <stdint.h>
#include <sys/types.h>

#include "shared/log.h"

#define LOG_USER_LINES_MAX   32 /* in an interval */
#define LOG_USER_INTERVAL_NS (UINT64_C(60) * 1000000000)
#define LOG_USERS_MAX        64 /* users counted at a time; beyond that, some share a count */

/* Sets the function that tells to which account a uid belongs. NULL, which is the default: each uid is an account. */
void log_users_count_by(uid_t (*user_of)(void *userdata, uid_t uid), void *userdata);

void log_user_write(uid_t uid, int level, const char *format, ...) _printf_(3, 4);

#define log_user(uid, level, ...)                                    \
        do {                                                         \
                if (log_level() >= (level))                          \
                        log_user_write((uid), (level), __VA_ARGS__); \
        } while (0)

/* The BOOTTIME at which the next interval with suppressed lines ends; UINT64_MAX: there is none. */
uint64_t log_users_deadline(void);
void log_users_tick(uint64_t now);
