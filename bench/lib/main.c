/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What an event costs its thread, against what it cannot be without (reading the clock and storing 32 bytes) and
 * against peers, where they are installed.
 *
 * All take turns, burst by burst, and a ratio is the median of those of bursts that ran one after the other: a
 * machine that is slower for a while is so for all. Nanoseconds are those of the best burst.
 */

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"
#include "shared/macro.h"

#define N_ROUNDS        100
#define N_THREAD_ROUNDS 30
#define N_SESSIONS      5
#define PEERS_MAX       2

/* At most this many times the floor, and this many times LTTng-UST: the targets of the project. */
static const struct {
        const char *what;
        double of_floor;
        double of_peer; /* of the first one */
} goals[_SHAPE_N] = {
        [SHAPE_OFF] = { "category off", 0.02, 0 },
        [SHAPE_INSTANT] = { "instant", 2.0, 0.5 },
        [SHAPE_SLICE] = { "slice, begin or end", 2.0, 0.5 },
        [SHAPE_ARGS] = { "instant, integer, text of 16", 3.0, 0.6 },
        [SHAPE_COUNTER] = { "counter", 2.0, 0.5 },
};

static const struct {
        const char *module;
        const char *name;
} known_peers[] = {
        { "lttng", "LTTng-UST" },
        { "perfetto", "Perfetto's C SDK" },
};

typedef struct Series {
        double ns[N_ROUNDS]; /* of an event, by round */
} Series;

typedef struct Table {
        const Peer *peers[PEERS_MAX];
        Series floor;
        Series ours[_SHAPE_N];
        Series theirs[PEERS_MAX][_SHAPE_N];
        bool missed;
} Table;

static Table table;

static double burst_ns(Burst burst) {
        uint64_t begin_ns = bench_now_ns();
        double ns;

        burst(EVENTS_MAX);
        ns = (double)(bench_now_ns() - begin_ns) / EVENTS_MAX;
        world_drain();
        return ns;
}

static double best_ns(const Series *series) {
        double best = series->ns[0];

        for (size_t i = 1; i < N_ROUNDS; i++)
                best = series->ns[i] < best ? series->ns[i] : best;
        return best;
}

static double ratio(const Series *series, const Series *beside) {
        double ratios[N_ROUNDS];

        for (size_t i = 0; i < N_ROUNDS; i++)
                ratios[i] = series->ns[i] / beside->ns[i];
        return bench_median(ratios, N_ROUNDS);
}

static const char *verdict(double value, double at_most) {
        bool ok = at_most == 0 || value <= at_most;

        table.missed |= !ok;
        return ok ? "" : " MISSED";
}

/* The first round is for programs that have to say something first, and for caches. */
static void measure(void) {
        for (size_t round = 0; round <= N_ROUNDS; round++) {
                size_t at = round > 0 ? round - 1 : 0;

                for (Shape shape = 0; shape < _SHAPE_N; shape++) {
                        if (shape % 2 == 0)
                                table.floor.ns[at] = burst_ns(world_floor);
                        table.ours[shape].ns[at] = burst_ns(world_bursts[shape]);
                        for (size_t i = 0; i < PEERS_MAX; i++)
                                if (table.peers[i])
                                        table.theirs[i][shape].ns[at] =
                                                burst_ns(table.peers[i]->bursts[shape]);
                }
        }
}

static void print_instructions(Burst burst) {
        double n = instructions_of(burst);

        if (n < 0)
                printf("  ?");
        else
                printf("  %.0f", n);
}

static void print_shape(Shape shape) {
        const Series *ours = &table.ours[shape];
        double of_floor = ratio(ours, &table.floor);

        printf("%-30s %6.1f ns %6.2f (%g)%s",
               goals[shape].what,
               best_ns(ours),
               of_floor,
               goals[shape].of_floor,
               verdict(of_floor, goals[shape].of_floor));
        for (size_t i = 0; i < PEERS_MAX; i++) {
                const Series *theirs = &table.theirs[i][shape];
                double goal = i == 0 ? goals[shape].of_peer : 0;

                if (!table.peers[i])
                        continue;
                printf("  | %6.1f ns, ours %4.2f of it", best_ns(theirs), ratio(ours, theirs));
                if (goal > 0)
                        printf(" (%g)%s", goal, verdict(ratio(ours, theirs), goal));
        }
        printf("  | instructions");
        print_instructions(world_bursts[shape]);
        for (size_t i = 0; i < PEERS_MAX; i++)
                if (table.peers[i])
                        print_instructions(table.peers[i]->bursts[shape]);
        printf("\n");
}

static double threads_median(Burst burst) {
        double ratios[N_THREAD_ROUNDS];

        for (size_t i = 0; i < N_THREAD_ROUNDS; i++)
                ratios[i] = threads_ratio(burst, EVENTS_MAX);
        return bench_median(ratios, N_THREAD_ROUNDS);
}

static void print_threads(void) {
        double floor_ratio = threads_median(world_floor);
        double ours = threads_median(world_bursts[SHAPE_INSTANT]);

        printf("%-30s %6.2f x one thread's rate (1.9)%s  | floor %.2f",
               "two threads",
               ours,
               ours < 1.9 ? " MISSED" : "",
               floor_ratio);
        table.missed |= ours < 1.9;
        for (size_t i = 0; i < PEERS_MAX; i++)
                if (table.peers[i])
                        printf("  | %s %.2f",
                               table.peers[i]->name,
                               threads_median(table.peers[i]->bursts[SHAPE_INSTANT]));
        printf("\n");
}

static void print_sessions(void) {
        Series one, five;
        double of_one;

        for (size_t i = 0; i < N_ROUNDS; i++)
                one.ns[i] = burst_ns(world_integer);
        world_add_sessions(N_SESSIONS - 1);
        burst_ns(world_integer);
        for (size_t i = 0; i < N_ROUNDS; i++)
                five.ns[i] = burst_ns(world_integer);
        of_one = best_ns(&five) / best_ns(&one);
        printf("%-30s %6.1f ns %6.2f x one session (2)%s\n",
               "instant, integer, 5 sessions",
               best_ns(&five),
               of_one,
               verdict(of_one, 2));
}

/* What the service pays, and the file: the other program's, with a service. */
static void print_service(const char *path) {
        pid_t child;
        int status;

        fflush(stdout);
        child = fork();
        if (child == 0) {
                unsetenv("DESKTRACE_SOCKET");
                execl(path, path, "--only=cost", (char *)NULL);
                _exit(127);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
                printf("the service: skipped, %s does not run\n", path);
}

int main(int argc, char *argv[]) {
        int r = world_init();

        if (r < 0) {
                fprintf(stderr, "bench-lib: %s\n", strerror(-r));
                return EXIT_FAILURE;
        }
        for (size_t i = 0; i < ARRAY_SIZE(known_peers); i++)
                table.peers[i] = peer_begin(known_peers[i].module, known_peers[i].name);
        measure();
        printf("%-30s %6.1f ns   of the floor (goal)",
               "floor: clock and 32 bytes",
               best_ns(&table.floor));
        for (size_t i = 0; i < PEERS_MAX; i++)
                if (table.peers[i])
                        printf("  | %s", table.peers[i]->name);
        printf("  | instructions");
        print_instructions(world_floor);
        printf("\n");
        for (Shape shape = 0; shape < _SHAPE_N; shape++)
                print_shape(shape);
        print_threads();
        print_sessions();
        if (argc > 1)
                print_service(argv[1]);
        return table.missed ? EXIT_FAILURE : EXIT_SUCCESS;
}
