/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Invocation: one parsed command line */

#include <glib/gi18n.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/invocation.h"
#include "client/say.h"
#include "shared/text.h"

/* The variables that GOption fills in. */
typedef struct CommonOptions {
        gboolean help, system, user, standalone, no_ask, no_legend, quiet;
        char *json;
} CommonOptions;

/* GOption would take the next argument as the value of an option that needs none. */
static bool is_bare_json(const char *const argv[]) {
        JsonMode mode;

        return streq(argv[0], "--json") && (!argv[1] || json_mode_parse(&mode, argv[1]) < 0);
}

static const char *default_json_option(void) {
        return isatty(STDOUT_FILENO) ? "--json=pretty" : "--json=short";
}

/* Their values always follow "=": the next argument may be an event. */
static bool is_bare_with_value(const char *verb, const char *argument) {
        return verb && streq(verb, "record") &&
               (streq(argument, "--stacks") || streq(argument, "--heap"));
}

static void add_with_value(GStrvBuilder *options, const char *argument) {
        g_autofree char *option = g_strconcat(argument, "=", NULL);

        g_strv_builder_add(options, option);
}

void invocation_init(Invocation *invocation, char **ret_verb, const char *const argv[]) {
        g_autoptr(GStrvBuilder) options = g_strv_builder_new();
        char *verb = NULL;
        size_t i = 0;

        *invocation = (Invocation){ .has_legend = true, .may_ask = true };
        for (; argv[i] && !streq(argv[i], "--"); i++) {
                if (i > 0 && !verb && argv[i][0] != '-')
                        verb = g_strdup(argv[i]);
                else if (is_bare_json(&argv[i]))
                        g_strv_builder_add(options, default_json_option());
                else if (is_bare_with_value(verb, argv[i]))
                        add_with_value(options, argv[i]);
                else
                        g_strv_builder_add(options, argv[i]);
        }
        if (argv[i])
                invocation->command = g_strdupv((char **)&argv[i + 1]);
        invocation->options = g_strv_builder_end(options);
        *ret_verb = verb;
}

void invocation_deinit(Invocation *invocation) {
        g_clear_pointer(&invocation->options, g_strfreev);
        g_clear_pointer(&invocation->command, g_strfreev);
        g_clear_pointer(&invocation->arguments, g_strfreev);
}

ExitStatus usage_meant(const char *format, const char *name, const char *meant) {
        g_autofree char *clean = say_clean(name, strlen(name));
        g_autofree char *unknown = g_strdup_printf(format, clean);

        if (meant)
                say_error(_("%s. Did you mean '%s'?"), unknown, meant);
        else
                say_error("%s", unknown);
        return STATUS_USAGE;
}

ExitStatus
usage_unknown(const char *format, const char *name, const char *const known[], size_t n_known) {
        const char *nearest = text_nearest(name, known, n_known);
        ExitStatus status = usage_meant(format, name, nearest);
        g_autoptr(GString) names = g_string_new(NULL);
        g_autofree char *hint = NULL;

        if (nearest || n_known == 0)
                return status;
        for (size_t i = 0; i < n_known; i++)
                g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", known[i]);
        hint = g_strdup_printf(_("Choose one of: %s."), names->str);
        say_hint(hint);
        return status;
}

/* Collects names without their dashes, since dashes make all options look similar. */
static void collect_options(GPtrArray *known, const GOptionEntry *entries) {
        for (; entries && entries->long_name; entries++)
                if (*entries->long_name)
                        g_ptr_array_add(known, g_strdup(entries->long_name));
}

static void say_unknown(const GPtrArray *known, const char *option) {
        const char *nearest =
                text_nearest(option + strlen("--"), (const char *const *)known->pdata, known->len);
        g_autofree char *meant = nearest ? g_strconcat("--", nearest, NULL) : NULL;

        usage_meant(_("unknown option '%s'"), option, meant);
}

/* GOption says that an option is unknown, but not which one was meant. */
static void say_unknown_option(const Invocation *invocation,
                               const GOptionEntry *common,
                               const GOptionEntry *entries) {
        g_autoptr(GPtrArray) known = g_ptr_array_new_with_free_func(g_free);

        collect_options(known, common);
        collect_options(known, entries);
        for (size_t i = 1; invocation->options[i]; i++) {
                const char *option = invocation->options[i];
                g_autofree char *name = g_strndup(option, strcspn(option, "="));

                if (g_str_has_prefix(name, "--") &&
                    !g_ptr_array_find_with_equal_func(known, name + 2, g_str_equal, NULL))
                        say_unknown(known, name);
        }
}

/* Whether exactly this option was given. */
static bool has_option(const Invocation *invocation, const char *name) {
        return g_strv_contains((const char *const *)invocation->options, name);
}

static ExitStatus usage_bad_options(const Invocation *invocation,
                                    const GError *error,
                                    const GOptionEntry *common,
                                    const GOptionEntry *entries) {
        bool is_unknown = g_error_matches(error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION);

        if (is_unknown && has_option(invocation, "--standalone") &&
            !(invocation->verb->flags & VERB_STANDALONE)) {
                say_error(_("'%s' does not take --standalone: a private service ends with its "
                            "recording"),
                          invocation->verb->name);
                say_hint(_("To reach a private service, set DESKTRACE_SOCKET as its recording "
                           "shows."));
                return STATUS_USAGE;
        }
        if (!is_unknown || !strstr(error->message, "--"))
                say_error("%s", error->message);
        else
                say_unknown_option(invocation, common, entries);
        fprintf(stderr, _("Try \"desktrace %s --help\".\n"), invocation->verb->name);
        return STATUS_USAGE;
}

static size_t common_entries(GOptionEntry *ret, CommonOptions *options, unsigned flags) {
        const struct {
                unsigned flag;
                GOptionEntry entry;
        } rows[] = {
                { VERB_USES_BUS,
                  { "system",
                    0,
                    0,
                    G_OPTION_ARG_NONE,
                    &options->system,
                    N_("use the system service (default)"),
                    NULL } },
                { VERB_USES_BUS,
                  { "user",
                    0,
                    0,
                    G_OPTION_ARG_NONE,
                    &options->user,
                    N_("use the user service"),
                    NULL } },
                { VERB_STANDALONE,
                  { "standalone",
                    0,
                    0,
                    G_OPTION_ARG_NONE,
                    &options->standalone,
                    N_("run a private service; needs no bus and no systemd"),
                    NULL } },
                { VERB_USES_BUS,
                  { "no-ask-password",
                    0,
                    0,
                    G_OPTION_ARG_NONE,
                    &options->no_ask,
                    N_("do not prompt for a password"),
                    NULL } },
                { VERB_SHOWS_DATA,
                  { "json",
                    0,
                    0,
                    G_OPTION_ARG_STRING,
                    &options->json,
                    N_("print JSON: pretty, short or off (default: pretty on a terminal, else "
                       "short)"),
                    N_("MODE") } },
                { VERB_SHOWS_DATA,
                  { "no-legend",
                    0,
                    0,
                    G_OPTION_ARG_NONE,
                    &options->no_legend,
                    N_("print tables without headers"),
                    NULL } },
                { 0,
                  { "quiet",
                    'q',
                    0,
                    G_OPTION_ARG_NONE,
                    &options->quiet,
                    N_("print only errors and data"),
                    NULL } },
                { 0,
                  { "help",
                    'h',
                    0,
                    G_OPTION_ARG_NONE,
                    &options->help,
                    N_("print this help and exit"),
                    NULL } },
        };
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if ((rows[i].flag & flags) == rows[i].flag)
                        ret[n++] = rows[i].entry;
        ret[n] = (GOptionEntry){ 0 };
        return n;
}

static ExitStatus invocation_take_bus(Invocation *invocation, const CommonOptions *options) {
        if (options->system + options->user + options->standalone > 1) {
                say_error(_("--system, --user and --standalone are mutually exclusive"));
                return STATUS_USAGE;
        }
        if (options->system)
                invocation->bus = BUS_CHOICE_SYSTEM;
        else if (options->user)
                invocation->bus = BUS_CHOICE_USER;
        else if (options->standalone)
                invocation->bus = BUS_CHOICE_STANDALONE;
        return STATUS_OK;
}

static ExitStatus invocation_take_common(Invocation *invocation, const CommonOptions *options) {
        static const char *const json_modes[] = { "pretty", "short", "off" };

        if (options->json && json_mode_parse(&invocation->json, options->json) < 0)
                return usage_unknown(_("unknown JSON mode '%s'"),
                                     options->json,
                                     json_modes,
                                     ARRAY_SIZE(json_modes));
        invocation->has_legend = !options->no_legend;
        invocation->is_quiet = options->quiet;
        invocation->may_ask = !options->no_ask;
        return invocation_take_bus(invocation, options);
}

static GOptionContext *
option_context_new(const Verb *verb, const GOptionEntry *common, const GOptionEntry *entries) {
        g_autofree char *program = g_strconcat("desktrace ", verb->name, NULL);
        GOptionContext *context =
                g_option_context_new(*verb->arguments ? _(verb->arguments) : NULL);

        g_set_prgname(program); /* what --help begins with */
        g_option_context_set_summary(context, _(verb->summary));
        g_option_context_set_description(
                context, _("For more details and the exit statuses, see desktrace(1)."));
        g_option_context_set_help_enabled(context,
                                          FALSE); /* GLib's would be a section of its own */
        g_option_context_set_translation_domain(context, GETTEXT_PACKAGE);
        if (entries)
                g_option_context_add_main_entries(context, entries, GETTEXT_PACKAGE);
        g_option_context_add_main_entries(context, common, GETTEXT_PACKAGE);
        return context;
}

static _Noreturn void print_help_and_exit(GOptionContext *context) {
        char *help = g_option_context_get_help(context, FALSE, NULL);

        g_print("%s", help);
        g_free(help);
        exit(say_flush(STATUS_OK));
}

ExitStatus invocation_check_file(const char *path) {
        if (*path)
                return STATUS_OK;
        say_error(_("the name of a file must not be empty"));
        return STATUS_USAGE;
}

static ExitStatus check_file_options(const GOptionEntry *entries) {
        for (; entries && entries->long_name; entries++) {
                const char *path = entries->arg == G_OPTION_ARG_FILENAME
                                           ? *(char *const *)entries->arg_data
                                           : NULL;

                if (path && !*path) {
                        say_error("--%s: %s",
                                  entries->long_name,
                                  _("the name of a file must not be empty"));
                        return STATUS_USAGE;
                }
        }
        return STATUS_OK;
}

ExitStatus invocation_parse(Invocation *invocation, const GOptionEntry *entries) {
        CommonOptions options = { 0 };
        GOptionEntry common[9];
        g_autoptr(GOptionContext) context = NULL;
        g_autoptr(GError) error = NULL;
        g_auto(GStrv) left = g_strdupv(invocation->options);
        ExitStatus status;

        common_entries(common, &options, invocation->verb->flags);
        context = option_context_new(invocation->verb, common, entries);
        if (invocation->command && !(invocation->verb->flags & VERB_RUNS_COMMAND)) {
                say_error(_("'%s' takes no command after --"), invocation->verb->name);
                return STATUS_USAGE;
        }
        if (!g_option_context_parse_strv(context, &left, &error))
                return usage_bad_options(invocation, error, common, entries);
        if (options.help)
                print_help_and_exit(context);
        status = invocation_take_common(invocation, &options);
        if (!status)
                status = check_file_options(entries);
        g_free(options.json);
        invocation->arguments = g_strdupv(left + 1);
        return status;
}

const char *invocation_bus_option(const Invocation *invocation) {
        return invocation->bus == BUS_CHOICE_USER ? " --user" : "";
}

ExitStatus invocation_expect(const Invocation *invocation, size_t n_min, size_t n_max) {
        size_t n = g_strv_length(invocation->arguments);

        if (n >= n_min && n <= n_max)
                return STATUS_OK;
        if (n < n_min)
                say_error(_("'%s' requires an argument: desktrace %s %s"),
                          invocation->verb->name,
                          invocation->verb->name,
                          invocation->verb->arguments);
        else
                say_error(_("'%s' does not take the argument '%s'"),
                          invocation->verb->name,
                          invocation->arguments[n_max]);
        return STATUS_USAGE;
}
