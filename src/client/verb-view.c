/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* desktrace view: serves a trace, or its page, to a browser of the same user */

#include <errno.h>
#include <glib/gi18n.h>
#include <stdio.h>
#include <unistd.h>

#include "client/process.h"
#include "client/say.h"
#include "client/time-option.h"
#include "client/trace-page.h"
#include "client/verbs.h"
#include "client/view-server.h"
#include "shared/text.h"
#include "trace/trace-reader.h"

#define UI_SITE "https://ui.perfetto.dev"
/* The only local port that the Perfetto UI's content security policy lets it connect to. */
#define UI_PORT        9001
#define TIMEOUT_MS     300000
#define TIMEOUT_MS_MAX 86400000
#define NAME_BYTES_MAX 100

static char *arg_timeout;
static gboolean arg_perfetto, arg_print;

/* clang-format off */
static const GOptionEntry entries[] = {
        { "perfetto", 0, 0, G_OPTION_ARG_NONE, &arg_perfetto,
          N_("open it in the Perfetto UI, which keeps it in the browser"), NULL },
        { "print", 0, 0, G_OPTION_ARG_NONE, &arg_print, N_("print the address without opening a browser"), NULL },
        { "timeout", 0, 0, G_OPTION_ARG_STRING, &arg_timeout,
          N_("wait at most TIME for the browser (default: 5min)"), N_("TIME") },
        { 0 },
};
/* clang-format on */

static bool has_display(void) {
        return g_getenv("WAYLAND_DISPLAY") || g_getenv("DISPLAY");
}

static bool open_browser(const char *address) {
        const char *const argv[] = { "xdg-open", address, NULL };
        const ProcessSpec spec = { .argv = argv, .is_without_stdout = true };
        pid_t pid;

        return process_spawn(&pid, &spec) == 0;
}

/* How to get here from the machine where the user sits. */
static void say_forwarding(const ViewServer *server) {
        if (g_getenv("SSH_CONNECTION"))
                fprintf(stderr,
                        _("On the machine you sit at, first: ssh -L %u:127.0.0.1:%u %s\n"),
                        view_server_port(server),
                        view_server_port(server),
                        g_get_host_name());
}

/* The address is useful if xdg-open fails, or opens a browser of another user or on another machine. */
static void say_waiting(const char *address) {
        fprintf(stderr,
                "%s\n%s\n",
                _("Waiting for the browser; Ctrl-C ends this. If none opens, open this address in "
                  "a browser of this user:"),
                address);
}

static void announce(const Invocation *invocation, const ViewServer *server, const char *address) {
        if (!arg_print && has_display() && open_browser(address)) {
                if (!invocation->is_quiet)
                        say_waiting(address);
                return;
        }
        if (!arg_print && !arg_perfetto)
                say_hint(
                        _("No browser here? \"desktrace report\" makes the page as a file, for one "
                          "of another machine."));
        say_forwarding(server);
        if (!invocation->is_quiet)
                fprintf(stderr, "%s\n", _("Open this address in a browser of this user:"));
        puts(address);
        fflush(stdout);
}

static ExitStatus parse_timeout(uint32_t *ret_ms) {
        *ret_ms = TIMEOUT_MS;
        return arg_timeout ? time_option_parse(ret_ms, arg_timeout, 1, TIMEOUT_MS_MAX) : STATUS_OK;
}

static ExitStatus say_cannot_serve(int r) {
        if (r == -EADDRINUSE) {
                say_error(_("port %u, the only one that the Perfetto UI may ask, is in use"),
                          UI_PORT);
                say_hint(_("End what uses it, or open the file in the UI by hand."));
        } else {
                say_error(_("cannot listen on 127.0.0.1: %s"), g_strerror(-r));
        }
        return STATUS_FAILED;
}

static ExitStatus serve(const Invocation *invocation, const ViewDocument *document) {
        _cleanup_(view_server_freep) ViewServer *server = NULL;
        g_autofree char *address = NULL;
        uint32_t timeout_ms;
        ExitStatus status = parse_timeout(&timeout_ms);
        int r;

        if (status)
                return status;
        r = view_server_new(&server, document, arg_perfetto ? UI_PORT : 0);
        if (r)
                return say_cannot_serve(r);
        address = arg_perfetto ? g_strconcat(UI_SITE "/#!/?url=", view_server_address(server), NULL)
                               : g_strdup(view_server_address(server));
        announce(invocation, server, address);
        r = view_server_run(server, timeout_ms);
        if (r > 0)
                return STATUS_OK;
        if (r < 0)
                return say_cannot_serve(r);
        say_error(_("no browser has asked for it"));
        return STATUS_TIMED_OUT;
}

/* The part of the name that can go into the address, which is not cut. */
static char *name_of(const char *path, const char *suffix) {
        g_autofree char *base = g_path_get_basename(path);
        g_autofree char *name = g_utf8_make_valid(base, -1);

        if (strlen(name) > NAME_BYTES_MAX || streq(name, "-"))
                return g_strconcat("recording", suffix, NULL);
        return g_strconcat(name, g_str_has_suffix(name, suffix) ? "" : suffix, NULL);
}

static ExitStatus view_page(const Invocation *invocation, const TraceFiles *files) {
        _cleanup_(query_freep) Query *query = NULL;
        _cleanup_(bytes_deinit) Bytes page = { 0 };
        g_autofree char *name = name_of(invocation->arguments[0], ".html");
        ExitStatus status = trace_page_make(&page, &query, files, NULL);
        const ViewDocument document = {
                .name = name, .type = "text/html; charset=utf-8", .data = page.data, .n = page.n
        };

        if (!status)
                status = serve(invocation, &document);
        return status ? status : trace_files_check(files, query);
}

/* The page is made from what was read. The UI gets the file as it is. */
static ExitStatus check_is_trace(const TraceFiles *files) {
        _cleanup_(trace_reader_deinit) TraceReader reader;
        const uint8_t *packet;
        size_t n;
        int r;

        trace_reader_init(&reader, files->fds[0]);
        r = trace_reader_next(&reader, &packet, &n);
        return trace_files_report(files, NULL, r > 0 ? QUERY_E_NO_TRACE : r);
}

static ExitStatus view_in_ui(const Invocation *invocation, const TraceFiles *files) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GMappedFile) file = g_mapped_file_new_from_fd(files->fds[0], FALSE, &error);
        g_autofree char *name = name_of(invocation->arguments[0], ".pftrace");
        ViewDocument document = { .name = name,
                                  .type = "application/octet-stream",
                                  .site = UI_SITE };
        ExitStatus status = check_is_trace(files);

        if (status)
                return status;
        if (!file) {
                say_error(_("cannot read %s: %s"), files->name, error->message);
                return STATUS_FAILED;
        }
        document.data = g_mapped_file_get_contents(file);
        document.n = g_mapped_file_get_length(file);
        return serve(invocation, &document);
}

ExitStatus verb_view(Invocation *invocation) {
        _cleanup_(trace_files_close) TraceFiles files = { 0 };
        ExitStatus status = invocation_parse(invocation, entries);

        if (!status)
                status = invocation_expect(invocation, 1, arg_perfetto ? 1 : QUERY_FILES_MAX);
        if (!status)
                status = trace_files_open(
                        &files, invocation->arguments, g_strv_length(invocation->arguments));
        if (status)
                return status;
        return arg_perfetto ? view_in_ui(invocation, &files) : view_page(invocation, &files);
}
