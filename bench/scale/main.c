/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* bench-scale: its options, and the table of subjects */

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "scale.h"

#define RUNS_DEFAULT 11
#define RUNS_QUICK   2

static const char help_text[] =
        "Usage: bench-scale [OPTION…]\n"
        "\n"
        "Measures a private desktraced with many producers and much data.\n"
        "\n"
        "  --only=NAME,…  only these subjects\n"
        "  --runs=N       of what is short (11)\n"
        "  --quick        a small version of everything, to see whether it works\n"
        "  --bus          on a private D-Bus session bus instead of a private socket\n"
        "  --list         say the subjects\n"
        "  --help         say this\n";

static const struct {
        const char *name;
        const char *what;
        void (*measure)(World *world);
} subjects[] = {
        { "start", "StartSession() until every producer records", rows_start },
        { "flush", "Flush() of producers with new events", rows_flush },
        { "foreign", "producers of Perfetto's protocol, beside native ones", rows_foreign },
        { "stalled", "one producer of many is SIGSTOPped", rows_stalled },
        { "memory", "of the service, for each producer", rows_memory },
        { "idle", "wake-ups of the service that has nothing to do", rows_idle },
        { "readout", "ReadInto() of a full ring of small events", rows_readout },
        { "stop", "Stop() of a full ring into its file", rows_stop },
        { "snapshot", "Clone() of a full ring at 500 k events a second", rows_snapshot },
        { "stream", "1 KiB events into a file while recording", rows_stream },
        { "many", "50 producers with 2000 events a second each", rows_many },
        { "threads", "two threads, at 1 M events a second and as fast as they can", rows_threads },
        { "cost", "CPU and bytes of an event that is streamed into a file", rows_cost },
        { "sessions", "five sessions of one producer, beside one", rows_sessions },
        { "kernel", "kernel events with desktrace-probes, beside reading them only", rows_kernel },
        { "kill", "the service is killed while it streams", rows_kill },
};

static World world;

static void clean_up(void) {
        world_deinit(&world);
}

static bool is_selected(const char *only, const char *name) {
        size_t n = strlen(name);

        while (only && *only) {
                size_t n_this = strcspn(only, ",");

                if (n_this == n && strncmp(only, name, n) == 0)
                        return true;
                only += n_this;
                only += *only == ',';
        }
        return only == NULL;
}

static void check_names(const char *only) {
        size_t n_found = 0, n_asked = 1;

        for (const char *at = only; at && *at; at++)
                n_asked += *at == ',';
        for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
                n_found += is_selected(only, subjects[i].name);
        if (only && n_found != n_asked)
                die("--only names a subject that there is not; see --list", 0);
}

static void list_subjects(void) {
        for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
                printf("%-12s%s\n", subjects[i].name, subjects[i].what);
}

/* Exits, unless there is something to measure. */
static const char *read_options(int argc, char *argv[]) {
        static const struct option options[] = {
                { "only", required_argument, NULL, 'o' },
                { "runs", required_argument, NULL, 'r' },
                { "quick", no_argument, NULL, 'q' },
                { "bus", no_argument, NULL, 'b' },
                { "list", no_argument, NULL, 'l' },
                { "help", no_argument, NULL, 'h' },
                {},
        };
        const char *only = NULL;
        int option;

        while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0)
                switch (option) {
                case 'o':
                        only = optarg;
                        break;
                case 'r':
                        world.n_runs = (unsigned)MIN(MAX(atoi(optarg), 1), SAMPLES_MAX);
                        break;
                case 'q':
                        world.is_quick = true;
                        break;
                case 'b':
                        world.on_bus = true;
                        break;
                case 'l':
                        list_subjects();
                        exit(EXIT_SUCCESS);
                case 'h':
                        fputs(help_text, stdout);
                        exit(EXIT_SUCCESS);
                default:
                        exit(EXIT_FAILURE);
                }
        return only;
}

static void raise_descriptor_limit(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
                limit.rlim_cur = limit.rlim_max;
                setrlimit(RLIMIT_NOFILE, &limit);
        }
}

int main(int argc, char *argv[]) {
        const char *only = read_options(argc, argv);

        check_names(only);
        if (world.n_runs == 0)
                world.n_runs = world.is_quick ? RUNS_QUICK : RUNS_DEFAULT;
        raise_descriptor_limit();
        signal(SIGPIPE, SIG_IGN);
        world_init(&world);
        atexit(clean_up);
        report_head(&world);
        for (size_t i = 0; i < ARRAY_SIZE(subjects); i++) {
                if (!is_selected(only, subjects[i].name))
                        continue;
                report_subject(subjects[i].name);
                world_start_service(&world);
                subjects[i].measure(&world);
                world_end_service(&world);
        }
        return EXIT_SUCCESS;
}
