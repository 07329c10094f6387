/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * desktraced: reads its options, then runs the loop
 */

#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "build-config.h"
#include "config.h"
#include "loop.h"
#include "shared/fd.h"
#include "shared/log.h"
#include "shared/text.h"

#define EXIT_USAGE 2

static const char help_text[] =
        "Usage:\n"
        "  desktraced [OPTION…]\n"
        "\n"
        "The tracing service, started by D-Bus, systemd, or \"desktrace record --standalone\".\n"
        "\n"
        "Options:\n"
        "      --system             serve the system bus and sockets passed by systemd (default)\n"
        "      --user               serve the session bus\n"
        "      --standalone         serve only sockets passed as systemd does (LISTEN_FDS) or "
        "named by\n"
        "                           Perfetto's variables; no bus, no polkit\n"
        "      --idle-timeout=TIME  exit after being idle for TIME, for example 10s; \"infinity\": "
        "never\n"
        "      --check-config       check the configuration files and exit; status 1 if one is "
        "invalid\n"
        "  -h, --help               display this help and exit\n"
        "  -V, --version            display the version and exit\n"
        "\n"
        "For more details, see desktraced(8).\n";

enum {
        OPTION_SYSTEM = 256,
        OPTION_USER,
        OPTION_STANDALONE,
        OPTION_IDLE_TIMEOUT,
        OPTION_CHECK_CONFIG,
};

static const struct option long_options[] = {
        { "system", no_argument, NULL, OPTION_SYSTEM },
        { "user", no_argument, NULL, OPTION_USER },
        { "standalone", no_argument, NULL, OPTION_STANDALONE },
        { "idle-timeout", required_argument, NULL, OPTION_IDLE_TIMEOUT },
        { "check-config", no_argument, NULL, OPTION_CHECK_CONFIG },
        { "version", no_argument, NULL, 'V' },
        { "help", no_argument, NULL, 'h' },
        {},
};

typedef struct Arguments {
        LoopMode mode;
        const char *idle_timeout;
        bool check_config;
        bool is_done; /* the answer is printed */
} Arguments;

static int arguments_parse(Arguments *arguments, int argc, char *argv[]) {
        int option;

        while ((option = getopt_long(argc, argv, "hV", long_options, NULL)) >= 0)
                switch (option) {
                case OPTION_SYSTEM:
                case OPTION_USER:
                case OPTION_STANDALONE:
                        arguments->mode = (LoopMode)(option - OPTION_SYSTEM);
                        break;
                case OPTION_IDLE_TIMEOUT:
                        arguments->idle_timeout = optarg;
                        break;
                case OPTION_CHECK_CONFIG:
                        arguments->check_config = true;
                        break;
                case 'V':
                        puts("desktraced " DESKTRACE_VERSION);
                        arguments->is_done = true;
                        return 0;
                case 'h':
                        fputs(help_text, stdout);
                        arguments->is_done = true;
                        return 0;
                default:
                        return -EINVAL;
                }
        if (optind < argc) {
                log_error("unexpected argument \"%s\"; see --help", argv[optind]);
                return -EINVAL;
        }
        return 0;
}

static int apply_idle_timeout(DaemonConfig *config, const char *text) {
        if (!text)
                return 0;
        if (daemon_config_parse_timeout(&config->idle_timeout_ns, text) < 0) {
                log_error("--idle-timeout=%s is not a time: try 10s or infinity", text);
                return -EINVAL;
        }
        return 0;
}

static int run(LoopMode mode, const DaemonConfig *config) {
        Loop loop;
        int r;

        /* Each producer needs a descriptor, and each connection on a socket another one. */
        r = fd_raise_limit();
        if (r < 0)
                log_debug("cannot raise the limit of descriptors: %s", strerror(-r));
        r = loop_init(&loop, mode, config);
        if (r < 0)
                log_error("cannot start: %s", strerror(-r));
        else
                r = loop_run(&loop);
        loop_deinit(&loop);
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char *argv[]) {
        _cleanup_(daemon_config_deinit) DaemonConfig config = {};
        Arguments arguments = {};
        size_t n_problems;
        int r;

        log_init("desktraced");
        r = arguments_parse(&arguments, argc, argv);
        if (r < 0 || arguments.is_done)
                return r < 0 ? EXIT_USAGE : EXIT_SUCCESS;
        r = daemon_config_load(&config, &n_problems);
        if (r < 0)
                return EXIT_FAILURE;
        if (arguments.check_config)
                return n_problems > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        if (apply_idle_timeout(&config, arguments.idle_timeout) < 0)
                return EXIT_USAGE;
        daemon_config_choose(&config, arguments.mode == LOOP_USER);
        return run(arguments.mode, &config);
}
