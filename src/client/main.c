/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * desktrace, the command line
 */

#include <glib/gi18n.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>

#include "build-config.h"
#include "client/charset.h"
#include "client/say.h"
#include "client/verbs.h"

static void locale_init(void) {
        setlocale(LC_ALL, "");
        bindtextdomain(GETTEXT_PACKAGE, LOCALE_DIR);
        bind_textdomain_codeset(GETTEXT_PACKAGE, "UTF-8");
        textdomain(GETTEXT_PACKAGE);
        charset_init();
}

static ExitStatus run_without_verb(const Invocation *invocation) {
        const char *option = invocation->options[0] ? invocation->options[1] : NULL;

        if (option && (streq(option, "--version") || streq(option, "-V"))) {
                puts("desktrace " DESKTRACE_VERSION);
                return STATUS_OK;
        }
        if (option && (streq(option, "--help") || streq(option, "-h"))) {
                verbs_print_help(stdout);
                return STATUS_OK;
        }
        if (option)
                usage_meant(_("unknown option '%s'"), option, NULL);
        else
                say_error(_("no verb given"));
        fputs("\n", stderr);
        verbs_print_help(stderr);
        return STATUS_USAGE;
}

int main(int argc, char *argv[]) {
        _cleanup_(invocation_deinit) Invocation invocation = { 0 };
        _cleanup_(freep) char *verb = NULL;

        locale_init();
        signal(SIGPIPE, SIG_IGN); /* writing then fails with EPIPE */
        say_set_command(argv);
        invocation_init(&invocation, &verb, (const char *const *)argv);
        if (!verb)
                return say_flush(run_without_verb(&invocation));
        invocation.verb = verb_find(verb);
        if (!invocation.verb)
                return verb_unknown(verb);
        return say_flush(invocation.verb->run(&invocation));
}
