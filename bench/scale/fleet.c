/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Fleet: many producers, each a process that does as it is told */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scale.h"
#include "shared/fd.h"
#include "shared/names.h"

#define REGISTER_TRIES    6000
#define REGISTER_PAUSE_MS 5

_Noreturn static void
member_run(const World *world, int fd, const char *path, unsigned memory_kib) {
        char memory[16];

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        world_set_environment(world);
        dup2(fd, STDIN_FILENO);
        snprintf(memory, sizeof(memory), "%u", memory_kib);
        execl(path, path, memory, (char *)NULL);
        fprintf(stderr, "bench-scale: cannot start %s: %s\n", path, strerror(errno));
        _exit(EXIT_FAILURE);
}

static void
member_start(Member *member, const World *world, const char *path, unsigned memory_kib) {
        int fds[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
                die("cannot make a socket pair", -errno);
        member->pid = fork();
        if (member->pid < 0)
                die("cannot fork", -errno);
        if (member->pid == 0)
                member_run(world, fds[1], path, memory_kib);
        close(fds[1]);
        member->fd = fds[0];
}

static uint32_t count_producers(World *world) {
        uint32_t n = 0;
        int r;

        r = sd_bus_get_property_trivial(world->bus,
                                        TRACING_BUS_NAME,
                                        TRACING_PATH,
                                        TRACING_MANAGER_INTERFACE,
                                        "NumProducers",
                                        NULL,
                                        'u',
                                        &n);
        if (r < 0)
                die("cannot ask for the number of producers", r);
        return n;
}

static void await_producers(World *world, size_t n) {
        for (unsigned i = 0; i < REGISTER_TRIES; i++) {
                if (count_producers(world) == n)
                        return;
                sleep_ms(REGISTER_PAUSE_MS);
        }
        die("not all producers came or went", 0);
}

static void
start_members(Fleet *fleet, World *world, const char *path, size_t n, unsigned memory_kib) {
        *fleet = (Fleet){ .world = world, .n = n, .members = calloc(n, sizeof(*fleet->members)) };
        if (!fleet->members)
                die("cannot start producers", -ENOMEM);
        for (size_t i = 0; i < n; i++)
                member_start(&fleet->members[i], world, path, memory_kib);
        world->n_producers += n;
        await_producers(world, world->n_producers);
        /* The first order finds each of them in its loop. */
        fleet_do(fleet, &(Order){ .kind = ORDER_PING });
}

void fleet_start(Fleet *fleet, World *world, size_t n, unsigned memory_kib) {
        char path[4096];

        world_program_path(path, "BENCH_SCALE_PRODUCER", "bench-scale-producer");
        start_members(fleet, world, path, n, memory_kib);
}

void fleet_start_foreign(Fleet *fleet, World *world, size_t n, unsigned memory_kib) {
        char path[4096];

        world_program_path(path, "BENCH_SCALE_FOREIGN", "bench-scale-foreign");
        start_members(fleet, world, path, n, memory_kib);
}

void fleet_end(Fleet *fleet) {
        for (size_t i = 0; i < fleet->n; i++)
                close(fleet->members[i].fd);
        for (size_t i = 0; i < fleet->n; i++)
                while (waitpid(fleet->members[i].pid, NULL, 0) < 0 && errno == EINTR)
                        ;
        free(TAKE(fleet->members));
        fleet->world->n_producers -= fleet->n;
        fleet->n = 0;
        if (fleet->world->service > 0)
                await_producers(fleet->world, fleet->world->n_producers);
}

void fleet_order(Fleet *fleet, const Order *order) {
        for (size_t i = 0; i < fleet->n; i++)
                if (write(fleet->members[i].fd, order, sizeof(*order)) != (ssize_t)sizeof(*order))
                        die("cannot give an order to a producer", -errno);
}

Answer fleet_await(Fleet *fleet) {
        Answer sum = {};

        for (size_t i = 0; i < fleet->n; i++) {
                Answer answer;

                if (read(fleet->members[i].fd, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
                        die("a producer does not answer", -errno);
                sum.n_emitted += answer.n_emitted;
                sum.ns = MAX(sum.ns, answer.ns);
                sum.event_ps = MAX(sum.event_ps, answer.event_ps);
        }
        return sum;
}

Answer fleet_do(Fleet *fleet, const Order *order) {
        fleet_order(fleet, order);
        return fleet_await(fleet);
}
