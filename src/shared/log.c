/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Log: writes lines to stderr
 *
 * Each line is one write(2), so that lines of several threads or processes do not mix. Whether stderr is the journal is
 * decided as systemd documents it: JOURNAL_STREAM names stderr's device and inode.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/log-text.h"
#include "shared/log.h"

#define LOG_LINE_MAX 2048

static const char *log_name = "desktrace";
static int log_max_level = LOG_INFO;
static bool log_to_journal;

static const char *const log_names[] = {
        [LOG_EMERG] = "emerg", [LOG_ALERT] = "alert",     [LOG_CRIT] = "crit",
        [LOG_ERR] = "err",     [LOG_WARNING] = "warning", [LOG_NOTICE] = "notice",
        [LOG_INFO] = "info",   [LOG_DEBUG] = "debug",
};

static bool stderr_is_journal(void) {
        const char *stream = getenv("JOURNAL_STREAM");
        uint64_t device, inode;
        struct stat st;

        return stream && sscanf(stream, "%" SCNu64 ":%" SCNu64, &device, &inode) == 2 &&
               fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void log_init(const char *name) {
        const char *level = getenv("DESKTRACE_LOG_LEVEL");

        log_name = name;
        log_to_journal = stderr_is_journal();
        if (level && log_level_parse(&log_max_level, level) < 0)
                log_warning("DESKTRACE_LOG_LEVEL=%s is not a log level (err … debug); using info",
                            level);
}

int log_level(void) {
        return log_max_level;
}

void log_set_level(int level) {
        log_max_level = level;
}

bool log_is_journal(void) {
        return log_to_journal;
}

int log_level_parse(int *ret, const char *text) {
        for (size_t i = 0; i < ARRAY_SIZE(log_names); i++)
                if (streq(text, log_names[i]) || (text[0] == (char)('0' + i) && !text[1])) {
                        *ret = (int)i;
                        return 0;
                }
        return -EINVAL;
}

const char *log_level_name(int level) {
        return log_names[level & LOG_PRIMASK];
}

void log_write(int level, const char *format, ...) {
        char line[LOG_LINE_MAX], text[LOG_LINE_MAX];
        int saved_errno = errno;
        va_list args;
        int n, m;

        va_start(args, format);
        m = vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        if (m < 0)
                return;

        n = log_to_journal ? snprintf(line, sizeof(line), "<%d>", level)
                           : snprintf(line, sizeof(line), "%s: ", log_name);
        n += (int)log_escape(line + n, sizeof(line) - (size_t)n - 1, text);
        line[n++] = '\n';
        if (write(STDERR_FILENO, line, (size_t)n) < 0)
                (void)0; /* there is nowhere left to report it */
        errno = saved_errno;
}
