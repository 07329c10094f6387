/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What a program logs with GLib, as events of its threads
 *
 *      g_log_set_writer_func(dt_glib_log_writer, NULL, NULL);
 *
 * before anything is logged, as GLib wants it. From then on each message of g_message(), g_log_structured() and their
 * kin is an instant in the category "log" (viewers show it among other logs, too), named after its domain, with its
 * priority, its place in the source and its other fields as arguments, and goes where it went before. When
 * nothing is recording, a message costs one load and one branch more.
 *
 * What is recorded is not what is printed: debug messages are, whatever $G_MESSAGES_DEBUG says, as they cost little
 * here. A program with a writer function of its own calls dt_glib_log_trace() in it, for the messages that it wants.
 *
 * All is inline, so libdesktrace does not need GLib: the program links with it anyway. Include it in one file. Any
 * thread. Nothing here logs with GLib itself, so a message is never the cause of another one.
 */

#include <glib.h>
#include <string.h>

#include <desktrace/track-event.h>

#define DT_GLIB_LOG_FIELDS_MAX 16 /* of one message; further ones are left out */
#define DT_GLIB_LOG_COPIES_MAX \
        512 /* bytes of values without a NUL at the end; what does not fit is left out */

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

/* A field's text, cut to `size`; "" if there is none. A length below 0 means that it ends with a NUL. */
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

/* Fields that the event shows in other ways. */
static inline gboolean dt_glib_log_is_said(const char *key) {
        static const char *const keys[] = { "MESSAGE",   "PRIORITY",  "GLIB_DOMAIN",
                                            "CODE_FILE", "CODE_LINE", "CODE_FUNC" };

        for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
                if (strcmp(key, keys[i]) == 0)
                        return TRUE;
        return FALSE;
}

/* The other fields. Values that are not text are left out, and so are pointers, whose length is 0. */
static inline gsize dt_glib_log_args(dt_arg ret[DT_GLIB_LOG_FIELDS_MAX],
                                     char copies[DT_GLIB_LOG_COPIES_MAX],
                                     const GLogField *fields,
                                     gsize n_fields) {
        gsize n = 0, at = 0;

        for (gsize i = 0; i < n_fields && n < DT_GLIB_LOG_FIELDS_MAX; i++) {
                const char *text = (const char *)fields[i].value;

                if (!fields[i].key || !text || dt_glib_log_is_said(fields[i].key))
                        continue;
                if (fields[i].length >= 0) {
                        gsize length = (gsize)fields[i].length;

                        if (length == 0 || length >= DT_GLIB_LOG_COPIES_MAX - at ||
                            !g_utf8_validate(text, fields[i].length, NULL))
                                continue;
                        memcpy(copies + at, text, length);
                        copies[at + length] = '\0';
                        text = copies + at;
                        at += length + 1;
                }
                ret[n++] = dt_arg_string(fields[i].key, text);
        }
        return n;
}

static inline void dt_glib_log_emit(GLogLevelFlags level, const GLogField *fields, gsize n_fields) {
        dt_arg args[DT_GLIB_LOG_FIELDS_MAX + 3];
        char copies[DT_GLIB_LOG_COPIES_MAX];
        char message[1024], domain[64], file[256], line[16], function[128], place[280];

        dt_glib_log_field(message, sizeof(message), fields, n_fields, "MESSAGE");
        dt_glib_log_field(domain, sizeof(domain), fields, n_fields, "GLIB_DOMAIN");
        dt_glib_log_field(file, sizeof(file), fields, n_fields, "CODE_FILE");
        dt_glib_log_field(line, sizeof(line), fields, n_fields, "CODE_LINE");
        dt_glib_log_field(function, sizeof(function), fields, n_fields, "CODE_FUNC");
        g_snprintf(place, sizeof(place), "%s:%s", file, line);
        args[0] = DT_LOG(dt_glib_log_priority(level), message);
        args[1] = DT_STRING("message", message);
        args[2] = file[0] ? dt_arg_text(DT_ARG_LOCATION, place, function) : dt_arg_none();
        dt_instant(&dt_glib_log_category,
                   NULL,
                   domain[0] ? domain : "log",
                   args,
                   3 + dt_glib_log_args(args + 3, copies, fields, n_fields));
}

/* Records a message if the program is being recorded. For writer functions. */
static inline void
dt_glib_log_trace(GLogLevelFlags level, const GLogField *fields, gsize n_fields) {
        if (dt_category_enabled(&dt_glib_log_category))
                dt_glib_log_emit(level, fields, n_fields);
}

/* A GLogWriterFunc; `userdata` is not used. */
static inline GLogWriterOutput dt_glib_log_writer(GLogLevelFlags level,
                                                  const GLogField *fields,
                                                  gsize n_fields,
                                                  gpointer userdata) {
        dt_glib_log_trace(level, fields, n_fields);
        return g_log_writer_default(level, fields, n_fields, userdata);
}
