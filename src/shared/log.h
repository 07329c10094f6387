/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Log: lines on stderr
 *
 * Each has the "<N>" priority prefix of sd-daemon(3) if stderr is the journal, and the program's name otherwise. The
 * level comes from DESKTRACE_LOG_LEVEL (err, warning, notice, info, debug, or 3..7); the default is info. Unprintable
 * characters are escaped (log-text.h), and lines about what peers do are written with log_user() (log-user.h). May be
 * called from any thread. Not for the library, which never writes to an application's stderr.
 */

#include <stdbool.h>
#include <syslog.h>

#include "shared/macro.h"

/* Reads the environment; `name` must stay valid. Call once, before the first thread. */
void log_init(const char *name);

int log_level(void);
void log_set_level(int level);
bool log_is_journal(void);

/* "err" or "3" -> LOG_ERR; -EINVAL for anything else. */
int log_level_parse(int *ret, const char *text);
const char *log_level_name(int level);

void log_write(int level, const char *format, ...) _printf_(2, 3);

#define log_at(level, ...)                               \
        do {                                             \
                if (log_level() >= (level))              \
                        log_write((level), __VA_ARGS__); \
        } while (0)

#define log_debug(...)   log_at(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)    log_at(LOG_INFO, __VA_ARGS__)
#define log_notice(...)  log_at(LOG_NOTICE, __VA_ARGS__)
#define log_warning(...) log_at(LOG_WARNING, __VA_ARGS__)
#define log_error(...)   log_at(LOG_ERR, __VA_ARGS__)
