/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * desktrace-bridges: data sources for programs that report in protocols of their own
 *
 * A producer like any other, which runs as the user whose programs it speaks to and has no privileges. The session
 * bus starts it when the user's service wants one of its sources (producers.d), and it ends when nobody has for a
 * while. It also offers its sources to the system's service, which shows them to this user only.
 */

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "bridges/bridge-registry.h"
#include "bridges/firefox/firefox-probe.h"
#include "bridges/sysprof/sysprof-probe.h"
#include "build-config.h"
#include "host/host.h"
#include "host/lifetime.h"
#include "host/program.h"
#include "shared/fd.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/names.h"

typedef enum Mode {
        MODE_RUN_USER,
        MODE_RUN_STANDALONE,
        MODE_RUN_COMMAND, /* only for programs that were started with the other end of our socket */
        MODE_DONE,        /* --help, --version and lists */
} Mode;

#define COMMAND_ENDS_MAX 2

typedef struct Program {
        sd_event *event;
        Lifetime lifetime;
        sd_bus *bus;             /* NULL but for MODE_RUN_USER */
        CaptureControl *control; /* NULL: no socket was passed */
        int profile_fd;          /* -1: no file was passed */
        const ProbeOps *of_command[COMMAND_ENDS_MAX];
        size_t n_of_command;
        Host *host;
} Program;

static void print_help(void) {
        printf("Usage:\n"
               "  desktrace-bridges [OPTION…]\n\n"
               "Provide data from programs that report in their own protocols.\n\n"
               "Options:\n"
               "      --user        serve the tracing services of this user's session (default)\n"
               "      --standalone  serve the private service at $" TRACING_ENV_SOCKET
               " (default if set)\n"
               "      --list-sources[=json]\n"
               "                    list what each data source records, reads and needs, and\n"
               "                    whether it can record in this session, and exit\n"
               "  -h, --help        display this help and exit\n"
               "  -V, --version     display the version and exit\n\n"
               "For more details, see desktrace-bridges(8).\n");
}

static int parse_options(Mode *ret, int argc, char **argv) {
        enum { OPTION_USER = 256, OPTION_STANDALONE, OPTION_LIST_SOURCES };
        static const struct option options[] = {
                { "user", no_argument, NULL, OPTION_USER },
                { "standalone", no_argument, NULL, OPTION_STANDALONE },
                { "list-sources", optional_argument, NULL, OPTION_LIST_SOURCES },
                { "help", no_argument, NULL, 'h' },
                { "version", no_argument, NULL, 'V' },
                {},
        };
        int option;

        *ret = getenv(TRACING_ENV_SOCKET) ? MODE_RUN_STANDALONE : MODE_RUN_USER;
        while ((option = getopt_long(argc, argv, "hV", options, NULL)) >= 0)
                switch (option) {
                case OPTION_USER:
                        unsetenv(TRACING_ENV_SOCKET);
                        *ret = MODE_RUN_USER;
                        break;
                case OPTION_STANDALONE:
                        *ret = MODE_RUN_STANDALONE;
                        break;
                case OPTION_LIST_SOURCES:
                        *ret = MODE_DONE;
                        return program_list_sources(bridges, n_bridges, optarg);
                case 'V':
                        printf("desktrace-bridges %s\n", DESKTRACE_VERSION);
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

static void on_busy(void *userdata, bool is_busy) {
        Program *program = userdata;

        lifetime_set_busy(&program->lifetime, is_busy);
}

/* This comes last, so that those who wait for the name find everything in place. */
static int take_name(Program *program) {
        int r = sd_bus_open_user_with_description(&program->bus, "bridges");

        if (r < 0) {
                log_error("cannot reach the session bus: %s", strerror(-r));
                return r;
        }
        return program_take_name(
                program->bus, program->event, TRACING_BRIDGES_BUS_NAME, "desktrace-bridges");
}

static int take_sysprof(Program *program, int fd) {
        int r = capture_control_new(&program->control, fd);

        if (r >= 0)
                sysprof_probe_set_control(program->control);
        return r;
}

static int take_firefox(Program *program, int fd) {
        program->profile_fd = fd;
        firefox_probe_set_profile(fd);
        return 0;
}

/* The descriptors whose other ends a command has, by their names. */
static const struct {
        const char *name;
        int (*take)(Program *program, int fd);
        const ProbeOps *probe;
} command_ends[COMMAND_ENDS_MAX] = {
        { "sysprof", take_sysprof, &sysprof_probe_ops },
        { "firefox", take_firefox, &firefox_probe_ops },
};

static int program_take_end(Program *program, int fd, const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(command_ends); i++) {
                if (strcmp(command_ends[i].name, name) != 0)
                        continue;
                program->of_command[program->n_of_command++] = command_ends[i].probe;
                return command_ends[i].take(program, fd);
        }
        log_error("a descriptor was passed that is called '%s', which nothing here is", name);
        return -EINVAL;
}

static int program_take_ends(Program *program, Mode *mode) {
        char **names = NULL;
        int n, r = 0;

        n = sd_listen_fds_with_names(true, &names);
        if (n > (int)ARRAY_SIZE(command_ends)) {
                log_error("%d descriptors were passed; there may be %zu",
                          n,
                          ARRAY_SIZE(command_ends));
                r = -EINVAL;
        }
        for (int i = 0; r >= 0 && i < n; i++)
                r = program_take_end(program, SD_LISTEN_FDS_START + i, names[i]);
        for (int i = 0; i < n; i++)
                free(names[i]);
        free(names);
        if (n <= 0 || r < 0)
                return n < 0 ? n : r;
        if (!getenv("DESKTRACE_LOG_LEVEL")) /* stderr is the recording user's, as in standalone mode */
                log_set_level(LOG_WARNING);
        if (*mode == MODE_RUN_USER)
                *mode = MODE_RUN_COMMAND;
        return 0;
}

static int program_offer(Program *program, Mode mode) {
        const bool is_of_command = mode == MODE_RUN_COMMAND;
        HostProgram offer = {
                .producer = "desktrace-bridges",
                .probes = is_of_command ? program->of_command : bridges,
                .n_probes = is_of_command ? program->n_of_command : n_bridges,
                .busy = on_busy,
                .userdata = program,
        };

        return host_new(&program->host, program->event, &offer);
}

static int program_setup(Program *program, Mode mode) {
        const char *socket = getenv(TRACING_ENV_SOCKET);
        int r;

        r = program_make_loop(&program->event);
        if (r >= 0)
                r = program_take_ends(program, &mode);
        if (r >= 0 && mode == MODE_RUN_STANDALONE)
                r = lifetime_until_service_ends(&program->lifetime, program->event, socket);
        else if (r >= 0 && mode == MODE_RUN_USER)
                r = lifetime_until_idle(&program->lifetime, program->event);
        if (r >= 0)
                r = program_offer(program, mode);
        return r >= 0 && mode == MODE_RUN_USER ? take_name(program) : MIN(r, 0);
}

static void program_deinit(Program *program) {
        host_free(program->host);
        sysprof_probe_set_control(NULL);
        capture_control_free(program->control);
        firefox_probe_set_profile(-1);
        fd_close(program->profile_fd);
        lifetime_deinit(&program->lifetime);
        sd_bus_flush_close_unref(program->bus);
        sd_event_unref(program->event);
}

static int run(Mode mode) {
        _cleanup_(program_deinit) Program program = { .lifetime = LIFETIME_INIT, .profile_fd = -1 };
        int r;

        program_prepare(mode == MODE_RUN_STANDALONE);

        r = program_setup(&program, mode); /* makes the loop */
        return program_run(program.event, r);
}

int main(int argc, char **argv) {
        Mode mode;
        int r;

        log_init("desktrace-bridges");
        r = parse_options(&mode, argc, argv);
        if (r < 0)
                return EXIT_FAILURE;
        if (mode == MODE_DONE)
                return EXIT_SUCCESS;
        return run(mode) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
