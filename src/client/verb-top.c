/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Live, the machine is looked at after each refresh of the session, so both parts of a screen are about the same time.
 * Over a recording the screens come in its own pace on a terminal, and as fast as they can be printed elsewhere.
 */

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <signal.h>
#include <stdio.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#include "client/answer-range.h"
#include "client/say.h"
#include "client/time-option.h"
#include "client/top-machine.h"
#include "client/top-session.h"
#include "client/top-terminal.h"
#include "client/top-view.h"
#include "client/trace-files.h"
#include "client/verbs.h"
#include "shared/fd.h"
#include "shared/text.h"

#define TOP_DEFAULT         10
#define INTERVAL_MS_DEFAULT 1000
#define INTERVAL_MS_MIN     100
#define INTERVAL_MS_MAX     3600000

static AnswerRange arg_range;
static char *arg_interval, *arg_by, *arg_memory;
static int arg_top = TOP_DEFAULT, arg_count;

/* clang-format off */
static const GOptionEntry entries[] = {
        { "interval", 'i', 0, G_OPTION_ARG_STRING, &arg_interval,
          N_("show a screen every TIME (default: 1s)"), N_("TIME") },
        { "count", 'n', 0, G_OPTION_ARG_INT, &arg_count, N_("exit after N screens"), N_("N") },
        { "by", 0, 0, G_OPTION_ARG_STRING, &arg_by, N_("show rows by program (default), unit or thread"), N_("WHAT") },
        { "top", 0, 0, G_OPTION_ARG_INT, &arg_top, N_("show at most N rows, 0 for all (default: 10)"), N_("N") },
        ANSWER_RANGE_OPTIONS(arg_range),
        { "memory", 0, 0, G_OPTION_ARG_STRING, &arg_memory,
          N_("use at most SIZE of memory for the trace"), N_("SIZE") },
        { 0 },
};
/* clang-format on */

typedef struct Top {
        const Invocation *invocation;
        AnswerGroup group;
        uint32_t interval_ms;
        sd_event *event;
        sd_event_source *timer;
        TopTerminal terminal;
        TopView view; /* the last one */
        int n_views;
        bool is_over;
        int error; /* the error that has ended it, or 0 */
        /* Live: */
        int root;
        TopMachine *machine;
        TopSession *session;
        /* Over a recording: */
        const TraceStore *store;
        AnswerLoad *load;
        int64_t zero, at, end; /* trace time: `at` is what has been shown */
} Top;

static void top_deinit(Top *top) {
        top_terminal_end(&top->terminal);
        top_view_deinit(&top->view);
        top_session_free(top->session);
        top_machine_free(top->machine);
        answer_load_free(top->load);
        sd_event_source_disable_unref(top->timer);
        sd_event_unref(top->event);
        fd_close(top->root);
}

static void top_end(Top *top, int error) {
        top->is_over = true;
        top->error = error;
        sd_event_exit(top->event, 0);
}

static uint64_t boottime_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static char *time_of_day(void) {
        g_autoptr(GDateTime) now = g_date_time_new_now_local();

        return g_date_time_format(now, "%H:%M:%S");
}

/*
 * Screens
 */

static void draw(const Top *top) {
        const TopView *view = &top->view;

        if (!view->load)
                return;
        if (top->invocation->json != JSON_OFF)
                top_view_print_json(view, top->invocation->json, (size_t)arg_top);
        else if (top->terminal.is_on)
                top_view_draw(view,
                              top->terminal.has_keys
                                      ? _("q: quit; by program: p, unit: u, thread: t")
                                      : NULL);
        else
                top_view_print(view, (size_t)arg_top, top->invocation->has_legend);
}

/* Takes the view over. When the reader goes away, this ends. */
static void show(Top *top, TopView *view) {
        top_view_deinit(&top->view);
        top->view = *view;
        draw(top);
        if (fflush(stdout) != 0 || ferror(stdout) || ++top->n_views == arg_count)
                top_end(top, 0);
}

static void on_refreshed(void *userdata) {
        Top *top = userdata;
        uint64_t now = boottime_ns();
        TopView view = { .zero = top->zero,
                         .from = top->at - top->zero,
                         .to = (int64_t)now - top->zero,
                         .when = time_of_day(),
                         .n_lost = top_session_take_losses(top->session),
                         .trouble = top_session_trouble(top->session) };
        int r = top_machine_look(top->machine, now, top->group, &view.load)
                        ?: top_session_take(top->session, &view.ended);

        top->at = (int64_t)now;
        if (r == 0) {
                show(top, &view);
                return;
        }
        top_view_deinit(&view);
        top_end(top, r);
}

/* One screen of a recording. The last one may cover less. */
static void show_next(Top *top) {
        int64_t step = (int64_t)top->interval_ms * 1000000, from = top->at, r;
        char text[64];
        TopView view = { .zero = top->zero, .from = from - top->zero };

        top->at = top->end - from > step ? from + step : top->end;
        view.to = top->at - top->zero;
        view.when = g_strdup_printf(
                "%s s", g_ascii_formatd(text, sizeof(text), "%.1f", (double)view.to / 1e9));
        r = answer_load_next(top->load, from, top->at, &view.load, &view.ended);
        if (r == 0) {
                show(top, &view);
        } else {
                top_view_deinit(&view);
                top_end(top, (int)r);
        }
        if (top->at >= top->end)
                top_end(top, top->error);
}

/*
 * What happens
 */

static int on_time(sd_event_source *source, uint64_t usec, void *userdata) {
        Top *top = userdata;
        uint64_t now, period = (uint64_t)top->interval_ms * 1000;

        sd_event_now(top->event, CLOCK_MONOTONIC, &now);
        sd_event_source_set_time(source, MAX(usec + period, now));
        sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        if (top->store)
                show_next(top);
        else
                top_session_refresh(top->session);
        return 0;
}

static int on_end(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        top_end(userdata, 0);
        return 0;
}

static int
on_resized(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        draw(userdata);
        fflush(stdout);
        return 0;
}

/* Takes effect with the next screen. */
static void set_group(Top *top, AnswerGroup group) {
        top->group = group;
        if (!top->store)
                return;
        top->load = answer_load_free(top->load);
        if (answer_load_new(&top->load, top->store, group))
                top_end(top, -ENOMEM);
}

static void press(Top *top, char key) {
        switch (key) {
        case 'q':
        case 'Q':
                top_end(top, 0);
                return;
        case 'p':
                set_group(top, ANSWER_BY_PROGRAM);
                return;
        case 'u':
                set_group(top, ANSWER_BY_UNIT);
                return;
        case 't':
                set_group(top, ANSWER_BY_THREAD);
                return;
        default:
                return;
        }
}

/* If there is nothing to read, the terminal was closed. */
static int on_key(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Top *top = userdata;
        char key;
        ssize_t n = read(fd, &key, 1);

        if (n == 1)
                press(top, key);
        else if (n == 0 || errno != EINTR)
                top_end(top, 0);
        return 0;
}

static int watch_signals(Top *top) {
        static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
        sigset_t mask;
        int r = 0;

        sigemptyset(&mask);
        sigaddset(&mask, SIGWINCH);
        for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
                sigaddset(&mask, ends[i]);
        if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
                return -errno;
        for (size_t i = 0; i < ARRAY_SIZE(ends) && r >= 0; i++)
                r = sd_event_add_signal(top->event, NULL, ends[i], on_end, top);
        if (r >= 0 && top->terminal.is_on)
                r = sd_event_add_signal(top->event, NULL, SIGWINCH, on_resized, top);
        return r;
}

static int watch(Top *top) {
        uint64_t period = (uint64_t)top->interval_ms * 1000;
        int r = watch_signals(top);

        if (r >= 0 && top->terminal.has_keys)
                r = sd_event_add_io(top->event, NULL, STDIN_FILENO, EPOLLIN, on_key, top);
        if (r >= 0)
                r = sd_event_add_time_relative(top->event,
                                               &top->timer,
                                               CLOCK_MONOTONIC,
                                               top->store ? 0 : period,
                                               1000,
                                               on_time,
                                               top);
        return r;
}

/*
 * Both kinds
 */

static ExitStatus report(int r) {
        if (r >= 0)
                return STATUS_OK;
        say_error("%s", g_strerror(-r));
        return STATUS_FAILED;
}

static ExitStatus run(Top *top) {
        int r;

        if (top->invocation->json == JSON_OFF)
                top_terminal_begin(&top->terminal);
        r = watch(top);
        if (r >= 0)
                r = sd_event_loop(top->event);
        top_terminal_end(&top->terminal);
        return report(r < 0 ? r : top->error);
}

/* The first look is what the second one is compared with. */
static ExitStatus run_live(Top *top) {
        Answer *nothing = NULL;
        int r = sd_event_new(&top->event);

        if (r < 0)
                return report(r);
        top->root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (top->root < 0)
                return report(-errno);
        top->machine = top_machine_new(top->root);
        top->zero = top->at = (int64_t)boottime_ns();
        r = top_machine_look(top->machine, (uint64_t)top->at, top->group, &nothing);
        answer_free(nothing);
        if (r < 0)
                return report(r);
        top->session = top_session_new(top->event, top->invocation->bus, on_refreshed, top);
        return run(top);
}

/* Without a terminal to update, all intervals are printed one after the other. */
static ExitStatus run_over(Top *top) {
        int r = answer_load_new(&top->load, top->store, top->group);

        if (r == 0)
                r = sd_event_new(&top->event);
        if (r < 0)
                return report(r);
        if (top->invocation->json == JSON_OFF && is_smart_terminal(stdout))
                return run(top);
        while (!top->is_over)
                show_next(top);
        return report(top->error);
}

static ExitStatus run_over_range(const Query *query, void *userdata) {
        Top *top = userdata;
        AnswerQuestion question = { .store = query_store(query) };
        ExitStatus status = answer_range_apply(&arg_range, &question);

        if (status)
                return status;
        top->store = question.store;
        top->zero = question.zero;
        top->at = question.start;
        top->end = question.end;
        return run_over(top);
}

/*
 * The command line
 */

static ExitStatus check_numbers(void) {
        if (arg_top < 0 || arg_count < 0) {
                say_error(arg_top < 0 ? _("--top must not be negative")
                                      : _("--count must not be negative"));
                return STATUS_USAGE;
        }
        return STATUS_OK;
}

static ExitStatus check_live(void) {
        if (!answer_range_is_given(&arg_range) && !arg_memory)
                return STATUS_OK;
        say_error(_("a time range and --memory are about a trace file: name one"));
        return STATUS_USAGE;
}

static ExitStatus parse_options(Top *top, QueryOptions *options) {
        ExitStatus status = check_numbers();

        top->interval_ms = INTERVAL_MS_DEFAULT;
        if (!status && arg_interval)
                status = time_option_parse(
                        &top->interval_ms, arg_interval, INTERVAL_MS_MIN, INTERVAL_MS_MAX);
        if (!status)
                status = answer_group_parse(&top->group, arg_by);
        if (!status && arg_memory && text_parse_size(&options->n_bytes_max, arg_memory)) {
                say_error(_("'%s' is not a size: try 64M or 1GiB"), arg_memory);
                status = STATUS_USAGE;
        }
        return status;
}

ExitStatus verb_top(Invocation *invocation) {
        _cleanup_(top_deinit) Top top = { .invocation = invocation, .root = -1 };
        QueryOptions options = { 0 };
        ExitStatus status = invocation_parse(invocation, entries);

        if (!status)
                status = invocation_expect(invocation, 0, QUERY_FILES_MAX);
        if (!status)
                status = parse_options(&top, &options);
        if (!status && !invocation->arguments[0])
                status = check_live();
        if (status)
                return status;
        if (!invocation->arguments[0])
                return run_live(&top);
        return trace_files_use(
                invocation->arguments, ANSWER_LOAD_PARTS, &options, run_over_range, &top);
}
