/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Doctor report: findings as text or JSON, and checks that end in time whatever hangs */

#include <glib/gi18n.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client/charset.h"
#include "client/doctor.h"
#include "client/say.h"

#define TOPIC_WIDTH 13

static const struct {
        const char *name;  /* for programs */
        const char *label; /* for people */
        Style style;
} levels[] = {
        [DOCTOR_OK] = { "ok", N_("ok"), STYLE_GOOD },
        [DOCTOR_NOTE] = { "note", N_("note"), STYLE_BOLD },
        [DOCTOR_PROBLEM] = { "problem", N_("problem"), STYLE_BAD },
};

static void finding_clear(gpointer item) {
        DoctorFinding *finding = item;

        g_free(finding->text);
        free(finding->remedy);
}

void doctor_report_init(DoctorReport *report) {
        *report = (DoctorReport){ .findings = g_array_new(FALSE, FALSE, sizeof(DoctorFinding)) };
        g_array_set_clear_func(report->findings, finding_clear);
}

void doctor_report_deinit(DoctorReport *report) {
        g_clear_pointer(&report->findings, g_array_unref);
}

/* Makes one line; an ellipsis shows where text was cut off. */
static char *shorten(const char *text) {
        g_autofree char *clean = say_clean(text, strlen(text));
        const char *end;

        if (strlen(clean) <= DOCTOR_TEXT_BYTES_MAX)
                return g_steal_pointer(&clean);
        end = g_utf8_find_prev_char(clean, clean + DOCTOR_TEXT_BYTES_MAX);
        return g_strdup_printf("%.*s...", (int)(end - clean), clean);
}

void doctor_add(DoctorReport *report,
                DoctorLevel level,
                const char *topic,
                const char *remedy,
                const char *format,
                ...) {
        DoctorFinding finding = { .level = level, .topic = topic };
        g_autofree char *text = NULL;
        va_list args;

        va_start(args, format);
        text = g_strdup_vprintf(format, args);
        va_end(args);
        finding.text = shorten(text);
        finding.remedy = remedy ? shorten(remedy) : NULL;
        g_array_append_val(report->findings, finding);
        report->n_notes += level == DOCTOR_NOTE;
        report->n_problems += level == DOCTOR_PROBLEM;
}

static void print_finding(const DoctorFinding *finding) {
        const char *label = _(levels[finding->level].label);
        const size_t n_label = charset_width(label);

        printf("%s%s%s%*s  %-*s  %s\n",
               style(stdout, levels[finding->level].style),
               label,
               style(stdout, STYLE_NORMAL),
               n_label < 8 ? (int)(8 - n_label) : 0,
               "",
               TOPIC_WIDTH,
               finding->topic,
               finding->text);
        if (finding->remedy)
                printf("%*s%s\n", 8 + 2 + TOPIC_WIDTH + 4, "", finding->remedy);
}

/* One sentence for each number, because translators need whole sentences. */
static void print_verdict(const DoctorReport *report) {
        const unsigned n_problems = report->n_problems, n_notes = report->n_notes;

        printf("\n");
        if (n_problems == 0 && n_notes == 0)
                printf("%s\n", _("Nothing is wrong."));
        if (n_problems > 0)
                printf(g_dngettext(GETTEXT_PACKAGE,
                                   "%u problem was found.\n",
                                   "%u problems were found.\n",
                                   n_problems),
                       n_problems);
        if (n_notes > 0)
                printf(g_dngettext(GETTEXT_PACKAGE,
                                   "%u note may explain what you see.\n",
                                   "%u notes may explain what you see.\n",
                                   n_notes),
                       n_notes);
}

void doctor_print_text(const DoctorReport *report, bool is_quiet) {
        for (guint i = 0; i < report->findings->len; i++) {
                const DoctorFinding *finding = &g_array_index(report->findings, DoctorFinding, i);

                if (!is_quiet || finding->level == DOCTOR_PROBLEM)
                        print_finding(finding);
        }
        if (!is_quiet)
                print_verdict(report);
}

void doctor_print_json(const DoctorReport *report, JsonMode mode) {
        _cleanup_(json_writer_deinit) JsonWriter writer = { 0 };

        json_writer_init(&writer, mode);
        json_begin_object(&writer, NULL);
        json_uint(&writer, "problems", report->n_problems);
        json_uint(&writer, "notes", report->n_notes);
        json_begin_array(&writer, "findings");
        for (guint i = 0; i < report->findings->len; i++) {
                const DoctorFinding *finding = &g_array_index(report->findings, DoctorFinding, i);

                json_begin_object(&writer, NULL);
                json_string(&writer, "level", levels[finding->level].name);
                json_string(&writer, "topic", finding->topic);
                json_string(&writer, "text", finding->text);
                json_string(&writer, "remedy", finding->remedy);
                json_end_object(&writer);
        }
        json_end_array(&writer);
        json_end_object(&writer);
        json_writer_print(&writer);
}

/*
 * Deadlines
 */

typedef struct Work {
        void *(*gather)(void *argument);
        void *argument;
        GMutex lock;
        GCond done;
        bool is_done, is_late;
        void *result;
} Work;

static void work_free(Work *work) {
        g_mutex_clear(&work->lock);
        g_cond_clear(&work->done);
        g_free(work);
}

static gpointer work_run(gpointer userdata) {
        Work *work = userdata;
        void *result = work->gather(work->argument);
        bool is_late;

        g_mutex_lock(&work->lock);
        work->result = result;
        work->is_done = true;
        is_late = work->is_late;
        g_cond_signal(&work->done);
        g_mutex_unlock(&work->lock);
        if (is_late)
                work_free(work);
        return NULL;
}

void *doctor_within(unsigned seconds, void *(*gather)(void *argument), void *argument) {
        const gint64 deadline = g_get_monotonic_time() + (gint64)seconds * G_TIME_SPAN_SECOND;
        Work *work = g_new0(Work, 1);
        void *result = NULL;
        bool is_done;

        work->gather = gather;
        work->argument = argument;
        g_mutex_init(&work->lock);
        g_cond_init(&work->done);
        g_thread_unref(g_thread_new("doctor", work_run, work));
        g_mutex_lock(&work->lock);
        while (!work->is_done && g_cond_wait_until(&work->done, &work->lock, deadline))
                ;
        is_done = work->is_done;
        result = work->result;
        work->is_late = !is_done;
        g_mutex_unlock(&work->lock);
        if (is_done)
                work_free(work);
        return result;
}
