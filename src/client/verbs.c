/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Verbs: the table of subcommands, and the help that is made from it */

#include <glib/gi18n.h>
#include <stdio.h>

#include "client/charset.h"
#include "client/verbs.h"

#define ARGUMENTS_WIDTH 35

/* clang-format off */
static const Verb verbs[] = {
        { "record", N_("[EVENT…] [-- COMMAND…]"), N_("Record to a trace file"),
          VERB_USES_BUS | VERB_STANDALONE | VERB_SHOWS_DATA | VERB_RUNS_COMMAND, verb_record },
        { "inspect", N_("FILE"), N_("Show the contents of a trace file"), VERB_SHOWS_DATA, verb_inspect },
        { "query", N_("FILE… [SQL]"), N_("Ask a trace file questions in SQL"), VERB_SHOWS_DATA, verb_query },
        { "why", N_("QUESTION FILE…"), N_("Answer a question about a trace file"), VERB_SHOWS_DATA, verb_why },
        { "top", N_("[FILE…]"), N_("Show what uses this machine now, or did during a recording"),
          VERB_USES_BUS | VERB_SHOWS_DATA, verb_top },
        { "report", N_("FILE… [-- FILE…]"), N_("Make a page that shows a trace file in a browser"),
          VERB_RUNS_COMMAND,
          verb_report },
        { "diff", N_("FILE… -- FILE…"), N_("Compare two sets of recordings"), VERB_SHOWS_DATA | VERB_RUNS_COMMAND,
          verb_diff },
        { "export", N_("FORMAT FILE…"), N_("Convert a trace file for another program"), 0, verb_export },
        { "symbolize", N_("FILE"), N_("Add the names of functions to a trace file"), 0, verb_symbolize },
        { "view", N_("FILE…"), N_("Look at a trace file in a browser"), 0, verb_view },
        { "status", "", N_("Show whether the service is running and what is being recorded"),
          VERB_USES_BUS | VERB_SHOWS_DATA, verb_status },
        { "list", N_("WHAT [GLOB]"),
          N_("List sources, events, categories, producers, sessions, presets, or probes FILE"),
          VERB_USES_BUS | VERB_STANDALONE | VERB_SHOWS_DATA, verb_list },
        { "doctor", N_("[PROGRAM|PID|SOURCE|EVENT]"), N_("Find out why something cannot be recorded"),
          VERB_USES_BUS | VERB_SHOWS_DATA, verb_doctor },
        { "snapshot", N_("[SESSION]"), N_("Save what a running session has recorded; recording continues"),
          VERB_USES_BUS | VERB_SHOWS_DATA, verb_snapshot },
        { "trigger", N_("NAME…"), N_("Fire a trigger"), VERB_USES_BUS | VERB_SHOWS_DATA, verb_trigger },
        { "attach", N_("SESSION"), N_("Take over a detached session"),
          VERB_USES_BUS | VERB_SHOWS_DATA, verb_attach },
        { "stop", N_("SESSION"), N_("Stop a session; -o saves its data"), VERB_USES_BUS | VERB_SHOWS_DATA, verb_stop },
        { "read", N_("SESSION"), N_("Write the buffered data of a session to a file"), VERB_USES_BUS, verb_read },
        { "flush", N_("SESSION"), N_("Make programs hand over buffered data"), VERB_USES_BUS, verb_flush },
        { "help", N_("[VERB]"), N_("Show this help, or the options of a verb"), 0, verb_help },
};
/* clang-format on */

const Verb *verb_find(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
                if (streq(verbs[i].name, name))
                        return &verbs[i];
        return NULL;
}

ExitStatus verb_unknown(const char *name) {
        const char *known[ARRAY_SIZE(verbs)];

        for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
                known[i] = verbs[i].name;
        return usage_unknown(_("unknown verb '%s'"), name, known, ARRAY_SIZE(known));
}

static void print_verbs(FILE *stream) {
        for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
                g_autofree char *arguments =
                        charset_reduce(g_strdup(*verbs[i].arguments ? _(verbs[i].arguments) : ""));
                int n_padding = ARGUMENTS_WIDTH - (int)charset_width(arguments);

                fprintf(stream,
                        "  %-9s  %s%*s  %s\n",
                        verbs[i].name,
                        arguments,
                        MAX(n_padding, 0),
                        "",
                        _(verbs[i].summary));
        }
}

static void print_statuses(FILE *stream) {
        const char *text;

        for (int i = 0; (text = exit_status_text((ExitStatus)i)); i++)
                fprintf(stream, "  %d  %s\n", i, text);
}

void verbs_print_help(FILE *stream) {
        fprintf(stream,
                "%s\n\n%s\n",
                _("Usage:\n  desktrace VERB [OPTION…] [ARGUMENT…]"),
                _("Record what this machine and its programs do."));
        fprintf(stream, "\n%s\n", _("Verbs:"));
        print_verbs(stream);
        fprintf(stream, "\n%s\n", _("Exit status:"));
        print_statuses(stream);
        fprintf(stream,
                "\n%s\n",
                _("For the options of a verb, see \"desktrace VERB --help\". For more details, see "
                  "desktrace(1)."));
}

ExitStatus verb_help(Invocation *invocation) {
        static const char *const help_option[] = { "desktrace", "--help", NULL };
        const Verb *verb;
        ExitStatus status;

        status = invocation_parse(invocation, NULL);
        if (!status)
                status = invocation_expect(invocation, 0, 1);
        if (status)
                return status;
        if (!invocation->arguments[0]) {
                verbs_print_help(stdout);
                return STATUS_OK;
        }
        verb = verb_find(invocation->arguments[0]);
        if (!verb)
                return verb_unknown(invocation->arguments[0]);
        g_strfreev(invocation->options);
        invocation->options = g_strdupv((char **)help_option);
        invocation->verb = verb;
        return verb->run(invocation);
}
