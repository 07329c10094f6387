/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * desktrace-probes: offers the kernel's data as data sources
 *
 * This is a producer like any other, with the privileges that its files need. As a system service it is started by a
 * connection to its socket when a recording wants it, and ends when no recording has wanted it for a while. It has a
 * bus name only so that there is no second one.
 */

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "build-config.h"
#include "host/host.h"
#include "host/lifetime.h"
#include "host/program.h"
#include "probes/entrance.h"
#include "probes/ftrace/instance.h"
#include "probes/ftrace/static-list.h"
#include "probes/probe-registry.h"
#include "shared/fd.h"
#include "shared/log.h"
#include "shared/names.h"

#define PROBES_BUS_NAME "org.desktrace.Probes1"

/* By this time after a crash, the next process has found what was being recorded. */
#define RETURN_NS (30 * 1000 * PROBE_NS_PER_MS)

typedef enum Mode {
        MODE_RUN_SYSTEM,
        MODE_RUN_STANDALONE,
        MODE_CLEANUP,
        MODE_DONE, /* --help, --version and lists */
} Mode;

typedef struct Program {
        sd_event *event;
        Lifetime lifetime;
        sd_event_source *tidy; /* after RETURN_NS */
        sd_bus *bus;           /* NULL in standalone mode */
        Entrance *entrance;    /* NULL: systemd has not passed a socket */
        GrantBook *grants;     /* NULL: the service is believed in everything */
        bool trusts_service;
        bool records;
        bool asks; /* polkit */
        Host *host;
} Program;

static void print_help(void) {
        printf("Usage:\n"
               "  desktrace-probes [OPTION…]\n\n"
               "Provide data about the kernel and all processes to the tracing service.\n\n"
               "Options:\n"
               "      --system      serve the system's tracing service (default)\n"
               "      --standalone  serve the private service at $" TRACING_ENV_SOCKET
               " (default if set)\n"
               "      --trust-service\n"
               "                    believe the service about who may record; do not ask polkit\n"
               "      --cleanup     remove kernel trace instances left by crashed recorders and "
               "exit\n"
               "      --list-sources[=json]\n"
               "                    list what each data source records, reads and needs, and\n"
               "                    whether it can record on this machine, and exit\n"
               "      --list-static-probes=FILE\n"
               "                    list the static probes (sys/sdt.h) of a program or library, "
               "for\n"
               "                    uprobe_events { usdt: ... } in a config, and exit\n"
               "  -h, --help        display this help and exit\n"
               "  -V, --version     display the version and exit\n\n"
               "For more details, see desktrace-probes(8).\n");
}

static int list_static_probes(const char *path) {
        _cleanup_(freep) char *error = NULL;
        int r;

        r = static_list_print(path, &error);
        if (r == 0)
                return 0;
        log_error("%s", error ?: strerror(-r));
        return -EINVAL;
}

static int parse_options(Mode *ret, bool *ret_trusts_service, int argc, char **argv) {
        enum {
                OPTION_SYSTEM = 256,
                OPTION_STANDALONE,
                OPTION_TRUST_SERVICE,
                OPTION_CLEANUP,
                OPTION_LIST_SOURCES,
                OPTION_LIST_STATIC_PROBES
        };
        static const struct option options[] = {
                { "system", no_argument, NULL, OPTION_SYSTEM },
                { "standalone", no_argument, NULL, OPTION_STANDALONE },
                { "trust-service", no_argument, NULL, OPTION_TRUST_SERVICE },
                { "cleanup", no_argument, NULL, OPTION_CLEANUP },
                { "list-sources", optional_argument, NULL, OPTION_LIST_SOURCES },
                { "list-static-probes", required_argument, NULL, OPTION_LIST_STATIC_PROBES },
                { "help", no_argument, NULL, 'h' },
                { "version", no_argument, NULL, 'V' },
                {},
        };
        int option;

        *ret = getenv(TRACING_ENV_SOCKET) ? MODE_RUN_STANDALONE : MODE_RUN_SYSTEM;
        while ((option = getopt_long(argc, argv, "hV", options, NULL)) >= 0)
                switch (option) {
                case OPTION_SYSTEM:
                        unsetenv(TRACING_ENV_SOCKET);
                        *ret = MODE_RUN_SYSTEM;
                        break;
                case OPTION_STANDALONE:
                        *ret = MODE_RUN_STANDALONE;
                        break;
                case OPTION_TRUST_SERVICE:
                        *ret_trusts_service = true;
                        break;
                case OPTION_CLEANUP:
                        *ret = MODE_CLEANUP;
                        break;
                case OPTION_LIST_SOURCES:
                        *ret = MODE_DONE;
                        return program_list_sources(probes, n_probes, optarg);
                case OPTION_LIST_STATIC_PROBES:
                        *ret = MODE_DONE;
                        return list_static_probes(optarg);
                case 'V':
                        printf("desktrace-probes %s\n", DESKTRACE_VERSION);
                        *ret = MODE_DONE;
                        return 0;
                case 'h':
                        print_help();
                        *ret = MODE_DONE;
                        return 0;
                default:
                        return -EINVAL;
                }
        return program_check_arguments(argc, argv, *ret == MODE_RUN_STANDALONE);
}

/*
 * When to end
 */

static void program_look_whether_idle(Program *program) {
        lifetime_set_busy(&program->lifetime, program->records || program->asks);
}

static void on_busy(void *userdata, bool is_busy) {
        Program *program = userdata;

        program->records = is_busy;
        program_look_whether_idle(program);
}

static void on_asked(void *userdata, bool is_asking) {
        Program *program = userdata;

        program->asks = is_asking;
        program_look_whether_idle(program);
}

/*
 * Grants, in the form that the host needs
 */

static int permit_take(void **ret,
                       void *userdata,
                       const void *config,
                       size_t n_config,
                       uint64_t *ret_longest_ns,
                       ProbeOwner *ret_owner,
                       char **ret_error) {
        GrantUse *use;
        int r;

        r = grant_use_new(&use, userdata, config, n_config, probe_now_ns());
        if (r > 0)
                return probe_refuse(ret_error,
                                    "the probes were not told for whom this is recorded, or polkit "
                                    "did not allow it; start the recording again");
        if (r < 0)
                return r;
        *ret_longest_ns = grant_use_longest_ns(use);
        *ret_owner = grant_use_owner(use);
        *ret = use;
        return 0;
}

static void permit_give_back(void *permit) {
        grant_use_free(permit);
}

static const HostPermits permits = { .take = permit_take, .give_back = permit_give_back };

/*
 * The bus name
 */

/* This is the only thing that needs the bus. On a machine without one, the program still serves the library's
 * connections. */
static int take_name(Program *program) {
        int r = sd_bus_open_system_with_description(&program->bus, "probes");

        if (r < 0) {
                log_notice("no system bus (%s): cannot tell whether desktrace-probes runs already",
                           strerror(-r));
                return 0;
        }
        return program_take_name(program->bus, program->event, PROBES_BUS_NAME, "desktrace-probes");
}

/* If somebody has started the program by hand, there is no socket, and no service that starts us. */
static int program_open_entrance(Program *program) {
        int n;

        n = sd_listen_fds(true);
        if (n <= 0)
                return n;
        if (n > 1) {
                log_error("systemd passed %d sockets; desktrace-probes.socket has one", n);
                return -EINVAL;
        }
        return entrance_new(&program->entrance,
                            &(const EntranceOptions){
                                    .event = program->event,
                                    .fd = SD_LISTEN_FDS_START,
                                    .bus = program->bus,
                                    .grants = program->grants,
                                    .trusts_service = program->trusts_service,
                                    .asked = on_asked,
                                    .userdata = program,
                            });
}

/* The unit's RuntimeDirectory= has what is remembered after a crash. */
static int program_require_permits(Program *program) {
        int r;

        r = grant_book_new(&program->grants, getenv("RUNTIME_DIRECTORY"), probe_now_ns());
        if (r >= 0)
                host_set_permits(program->host, &permits, program->grants);
        return r;
}

static int on_tidy(sd_event_source *source, uint64_t usec, void *userdata) {
        (void)instances_remove_stale(INSTANCES_LEFT_NONE);
        return 0;
}

/* What the previous process has left in the kernel is for the recordings that come back for it. */
static int program_return(Program *program) {
        if (!getenv("NOTIFY_SOCKET")) /* nobody starts it again */
                return 0;
        instances_return(probe_now_ns() + RETURN_NS);
        return sd_event_add_time_relative(program->event,
                                          &program->tidy,
                                          CLOCK_BOOTTIME,
                                          RETURN_NS / 1000,
                                          0,
                                          on_tidy,
                                          program);
}

static void program_deinit(Program *program) {
        entrance_free(program->entrance);
        host_free(program->host);
        grant_book_free(program->grants);
        lifetime_deinit(&program->lifetime);
        sd_event_source_unref(program->tidy);
        sd_bus_flush_close_unref(program->bus);
        sd_event_unref(program->event);
}

static int program_offer(Program *program, Mode mode) {
        HostProgram offer = {
                .producer = "desktrace-probes",
                .probes = mode == MODE_RUN_SYSTEM ? machine_probes : probes,
                .n_probes = mode == MODE_RUN_SYSTEM ? n_machine_probes : n_probes,
                .busy = on_busy,
                .userdata = program,
        };

        return host_new(&program->host, program->event, &offer);
}

static int program_setup(Program *program, Mode mode) {
        int r;

        r = program_make_loop(&program->event);
        if (r >= 0)
                r = mode == MODE_RUN_STANDALONE
                            ? lifetime_until_service_ends(&program->lifetime,
                                                          program->event,
                                                          getenv(TRACING_ENV_SOCKET))
                            : lifetime_until_idle(&program->lifetime, program->event);
        if (r >= 0)
                r = program_offer(program, mode);
        if (r >= 0 && mode == MODE_RUN_SYSTEM)
                r = program_return(program);
        if (r >= 0 && mode == MODE_RUN_SYSTEM && !program->trusts_service)
                r = program_require_permits(program);
        /* This comes last, so a peer that gets an answer finds everything in place. */
        if (r >= 0 && mode == MODE_RUN_SYSTEM)
                r = take_name(program);
        if (r >= 0 && mode == MODE_RUN_SYSTEM)
                r = program_open_entrance(program);
        return r;
}

static int run(Mode mode, bool trusts_service) {
        _cleanup_(program_deinit) Program program = {
                .lifetime = LIFETIME_INIT,
                .trusts_service = trusts_service,
        };
        int r;

        program_prepare(mode == MODE_RUN_STANDALONE);

        /* Rings and device files are kept open, at least one for each CPU. */
        r = fd_raise_limit();
        if (r < 0)
                log_debug("cannot raise the limit of descriptors: %s", strerror(-r));
        r = program_setup(&program, mode); /* makes the loop */
        return program_run(program.event, r);
}

/* For ExecStopPost= in the unit: systemd starts failed probes again, and they come back to what they had. */
static int clean_up(void) {
        const char *result = getenv("SERVICE_RESULT");
        int r;

        r = instances_remove_stale(!result || streq(result, "success") ? INSTANCES_LEFT_NONE
                                                                       : INSTANCES_LEFT_TAGGED);
        if (r < 0 && r != -ENOENT) {
                log_error("cannot look for stale trace instances: %s", strerror(-r));
                return EXIT_FAILURE;
        }
        return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
        bool trusts_service = false;
        Mode mode;
        int r;

        log_init("desktrace-probes");
        r = parse_options(&mode, &trusts_service, argc, argv);
        if (r < 0)
                return EXIT_FAILURE;
        switch (mode) {
        case MODE_DONE:
                return EXIT_SUCCESS;
        case MODE_CLEANUP:
                return clean_up();
        default:
                return run(mode, trusts_service) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        }
}
