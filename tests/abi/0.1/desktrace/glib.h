/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What a program logs with GLib, as events of its threads
 *
 *      g_log_set_writer_func(dt_glib_log_writer, NULL, NULL);
 *
 * before anything is logged, as GLib wants it. From then on each message of g_message(), g_warning() and their kin is
 * an instant in the category "log" (viewers show it among other logs, too) with its priority, domain and
 * place in the source, and goes where it went before. While nobody records, a message costs a load and a branch more.
 *
 * All is inline, so libdesktrace does not need GLib: the program links with it anyway. Include it in one file.
 */

#include <glib.h>

#include <desktrace/track-event.h>

DT_CATEGORY(dt_glib_log_category, "log", "Messages that the program logs");

static inline const char *dt_glib_log_priority(GLogLevelFlags level) {
        switch (level & G_LOG_LEVEL_MASK) {
        case G_LOG_LEVEL_ERROR:
                return DT_LOG_FATAL;
        case G_LOG_LEVEL_CRITICAL:
                return DT_LOG_ERROR;
        case G_LOG_LEVEL_WARNING:
                return DT_LOG_WARNING;
        case G_LOG_LEVEL_MESSAGE:
        case G_LOG_LEVEL_INFO:
                return DT_LOG_INFO;
        default:
                return DT_LOG_DEBUG;
        }
}

/* A field's text, cut to `size`; "" when it is not there. Lengths below 0 say that it ends with a NUL. */
static inline void dt_glib_log_field(char *ret,
                                     size_t size,
                                     const GLogField *fields,
                                     gsize n_fields,
                                     const char *key) {
        ret[0] = '\0';
        for (gsize i = 0; i < n_fields; i++) {
                const char *text = (const char *)fields[i].value;

                if (g_strcmp0(fields[i].key, key) != 0 || !text)
                        continue;
                if (fields[i].length < 0)
                        g_strlcpy(ret, text, size);
                else
                        g_strlcpy(ret, text, MIN(size, (gsize)fields[i].length + 1));
        }
}

static inline void
dt_glib_log_trace(GLogLevelFlags level, const GLogField *fields, gsize n_fields) {
        char message[1024], domain[64], file[256], line[16], function[128], place[280];

        dt_glib_log_field(message, sizeof(message), fields, n_fields, "MESSAGE");
        dt_glib_log_field(domain, sizeof(domain), fields, n_fields, "GLIB_DOMAIN");
        dt_glib_log_field(file, sizeof(file), fields, n_fields, "CODE_FILE");
        dt_glib_log_field(line, sizeof(line), fields, n_fields, "CODE_LINE");
        dt_glib_log_field(function, sizeof(function), fields, n_fields, "CODE_FUNC");
        g_snprintf(place, sizeof(place), "%s:%s", file, line);
        DT_INSTANT(dt_glib_log_category,
                   domain[0] ? domain : "log",
                   DT_LOG(dt_glib_log_priority(level), message),
                   DT_STRING("message", message),
                   file[0] ? dt_arg_text(DT_ARG_LOCATION, place, function) : dt_arg_none());
}

/* A GLogWriterFunc; `userdata` is not used. */
static inline GLogWriterOutput dt_glib_log_writer(GLogLevelFlags level,
                                                  const GLogField *fields,
                                                  gsize n_fields,
                                                  gpointer userdata) {
        if (dt_category_enabled(&dt_glib_log_category))
                dt_glib_log_trace(level, fields, n_fields);
        return g_log_writer_default(level, fields, n_fields, userdata);
}
