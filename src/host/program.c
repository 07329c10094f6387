/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Program: what the main() of every program with data sources does */

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "host/program.h"
#include "host/source-list.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/names.h"

int program_list_sources(const ProbeOps *const *probes, size_t n_probes, const char *format) {
        if (format && !streq(format, "json")) {
                log_error("--list-sources has no format \"%s\"; it has \"json\"", format);
                return -EINVAL;
        }
        source_list_print(probes, n_probes, format != NULL);
        return 0;
}

int program_check_arguments(int argc, char **argv, bool is_standalone) {
        if (optind < argc) {
                log_error("unexpected argument \"%s\"; see --help", argv[optind]);
                return -EINVAL;
        }
        if (is_standalone && !getenv(TRACING_ENV_SOCKET)) {
                log_error("--standalone needs the path of the service's socket in "
                          "$" TRACING_ENV_SOCKET);
                return -EINVAL;
        }
        return 0;
}

void program_prepare(bool is_standalone) {
        sigset_t signals;

        if (is_standalone && !getenv("DESKTRACE_LOG_LEVEL"))
                log_set_level(LOG_WARNING);
        sigemptyset(&signals);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGINT);
        sigprocmask(SIG_BLOCK, &signals, NULL);
}

int program_make_loop(sd_event **ret) {
        int r = sd_event_new(ret);

        if (r >= 0)
                r = sd_event_add_signal(*ret, NULL, SIGTERM, NULL, NULL);
        if (r >= 0)
                r = sd_event_add_signal(*ret, NULL, SIGINT, NULL, NULL);
        if (r >= 0)
                r = sd_event_set_watchdog(*ret, true);
        return MIN(r, 0);
}

static int on_bus_gone(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        log_info("the message bus is gone, exiting");
        return sd_event_exit(userdata, 0);
}

int program_take_name(sd_bus *bus, sd_event *event, const char *name, const char *program) {
        int r;

        r = sd_bus_attach_event(bus, event, 0);
        if (r >= 0)
                r = sd_bus_match_signal(bus,
                                        NULL,
                                        NULL,
                                        "/org/freedesktop/DBus/Local",
                                        "org.freedesktop.DBus.Local",
                                        "Disconnected",
                                        on_bus_gone,
                                        event);
        if (r >= 0)
                r = sd_bus_request_name(bus, name, 0);
        if (r == -EEXIST || r == -EALREADY)
                log_error("%s is taken: %s runs already", name, program);
        else if (r < 0)
                log_error("cannot take the bus name %s: %s", name, strerror(-r));
        return MIN(r, 0);
}

int program_run(sd_event *event, int setup) {
        int r;

        if (setup < 0) {
                log_error("cannot start: %s", strerror(-setup));
                return setup;
        }
        sd_notify(false, "READY=1");
        r = sd_event_loop(event);
        sd_notify(false, "STOPPING=1");
        return r;
}
