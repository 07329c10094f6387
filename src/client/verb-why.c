/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* desktrace why: answers a question about a recording */

#include <glib/gi18n.h>
#include <stdio.h>
#include <string.h>

#include "answers/answer-questions.h"
#include "client/answer-output.h"
#include "client/answer-range.h"
#include "client/say.h"
#include "client/trace-files.h"
#include "client/verbs.h"
#include "shared/text.h"

#define TOP_DEFAULT 10

/* The moment from which times count, whatever the question is. */
#define PARTS_OF_TIME (TRACE_PART_EVENTS | TRACE_PART_SCHED)

static AnswerRange arg_range;
static char *arg_slice, *arg_by, *arg_memory;
static int arg_top = TOP_DEFAULT;

/* clang-format off */
static const GOptionEntry entries[] = {
        ANSWER_RANGE_OPTIONS(arg_range),
        { "slice", 0, 0, G_OPTION_ARG_STRING, &arg_slice,
          N_("explain this slice: a name (its longest slice), or id:NUMBER"), N_("SLICE") },
        { "by", 0, 0, G_OPTION_ARG_STRING, &arg_by, N_("show rows by program (default), unit or thread"), N_("WHAT") },
        { "top", 0, 0, G_OPTION_ARG_INT, &arg_top, N_("show at most N rows, 0 for all (default: 10)"), N_("N") },
        { "memory", 0, 0, G_OPTION_ARG_STRING, &arg_memory,
          N_("use at most SIZE of memory for the trace"), N_("SIZE") },
        { 0 },
};
/* clang-format on */

static ExitStatus find_question(const AnswerDef **ret, const char *name) {
        size_t n;
        const AnswerDef *const *defs = answer_defs(&n);
        g_autofree const char **known = g_new(const char *, n);

        *ret = answer_def_find(name);
        for (size_t i = 0; i < n; i++)
                known[i] = defs[i]->name;
        return *ret ? STATUS_OK : usage_unknown(_("unknown question '%s'"), name, known, n);
}

static ExitStatus check_options(const AnswerDef *def) {
        if (def->options & ANSWER_NEEDS_SLICE && !arg_slice) {
                say_error(_("'%s' is about a slice: say which with --slice"), def->name);
                return STATUS_USAGE;
        }
        if (arg_slice && !(def->options & ANSWER_TAKES_SLICE)) {
                say_error(_("'%s' does not take %s"), def->name, "--slice");
                return STATUS_USAGE;
        }
        if (arg_by && !(def->options & ANSWER_TAKES_GROUPS)) {
                say_error(_("'%s' does not take %s"), def->name, "--by");
                return STATUS_USAGE;
        }
        if (arg_top < 0) {
                say_error(_("--top must not be negative"));
                return STATUS_USAGE;
        }
        return STATUS_OK;
}

static ExitStatus report_outcome(const AnswerDef *def, int r) {
        g_autofree char *clean = arg_slice ? say_clean(arg_slice, strlen(arg_slice)) : NULL;

        switch (r) {
        case ANSWER_E_NOTHING:
                say_error(_("the recording has nothing about '%s' in this time"), def->name);
                fprintf(stderr, _("Record with: %s\n"), def->record);
                return STATUS_NOT_FOUND;
        case ANSWER_E_NO_SLICE:
                say_error(_("the recording has no slice '%s'"), clean);
                return STATUS_NOT_FOUND;
        default:
                say_error("%s", g_strerror(-r));
                return STATUS_FAILED;
        }
}

typedef struct Why {
        const Invocation *invocation;
        const AnswerDef *def;
        AnswerQuestion question;
} Why;

static ExitStatus answer_question(const Query *query, void *userdata) {
        _cleanup_(answer_freep) Answer *answer = NULL;
        Why *why = userdata;
        ExitStatus status;
        int r;

        why->question.store = query_store(query);
        status = answer_range_apply(&arg_range, &why->question);
        if (status)
                return status;
        r = answer_find(&answer, why->def, &why->question);
        if (r)
                return report_outcome(why->def, r);
        if (why->invocation->json != JSON_OFF)
                answer_print_json(answer, &why->question, why->invocation->json);
        else
                answer_print(answer, why->invocation->has_legend);
        return STATUS_OK;
}

static ExitStatus ask(const Invocation *invocation) {
        Why why = {
                .invocation = invocation,
                .question = { .slice = arg_slice, .n_rows_max = (size_t)MAX(arg_top, 0) },
        };
        QueryOptions options = { 0 };
        ExitStatus status = find_question(&why.def, invocation->arguments[0]);

        if (!status)
                status = check_options(why.def);
        if (!status)
                status = answer_group_parse(&why.question.group, arg_by);
        if (!status && arg_memory && text_parse_size(&options.n_bytes_max, arg_memory)) {
                say_error(_("'%s' is not a size: try 64M or 1GiB"), arg_memory);
                status = STATUS_USAGE;
        }
        if (status)
                return status;
        return trace_files_use(invocation->arguments + 1,
                               why.def->parts | PARTS_OF_TIME,
                               &options,
                               answer_question,
                               &why);
}

ExitStatus verb_why(Invocation *invocation) {
        ExitStatus status = invocation_parse(invocation, entries);

        if (!status)
                status = invocation_expect(invocation, 2, QUERY_FILES_MAX + 1);
        return status ? status : ask(invocation);
}
