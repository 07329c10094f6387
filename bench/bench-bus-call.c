/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * bus-call: how long the service takes to answer a call, over a message bus and on its native socket
 *
 * The call is Get(Version), which needs no work: what is measured is the way. The floor is a bare sd-bus service with
 * one property, on the same message bus and on a socket of its own. All take turns in short bursts, and the ratios are
 * medians of bursts that ran one after the other.
 *
 * bench-bus-call [DESKTRACED…]: with several programs each has a message bus and a floor of its own, to compare them.
 */

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "bench.h"
#include "shared/macro.h"
#include "shared/names.h"

#define WORLDS_MAX       4
#define ROUNDS           200
#define CALLS_PER_BURST  20
#define CONNECT_TRIES    500
#define CONNECT_PAUSE_US 10000
#define LISTEN_FD        3 /* sd_listen_fds(3) */

#define FLOOR_NAME      "org.example.Floor"
#define FLOOR_PATH      "/org/example/Floor"
#define FLOOR_INTERFACE "org.example.Floor"

typedef enum Way { WAY_BUS, WAY_SOCKET, N_WAYS } Way;

/* Measured on a virtual machine with two CPUs; see docs/BENCHMARKS.md. */
static const struct {
        const char *name;
        double at_most; /* x floor */
} ways[N_WAYS] = {
        [WAY_BUS] = { "message bus", 1.4 },
        [WAY_SOCKET] = { "native socket", 2.0 },
};

typedef struct Route {
        sd_bus *floor, *service;
        double floor_us[ROUNDS], service_us[ROUNDS], ratios[ROUNDS]; /* of a call, in each burst */
} Route;

typedef struct World {
        char directory[32], bus_path[96], socket_path[96], floor_path[96];
        pid_t bus, service, floors[N_WAYS];
        Route routes[N_WAYS];
} World;

static _Noreturn void die(const char *what, int r) {
        fprintf(stderr, "bench-bus-call: %s: %s\n", what, strerror(-r));
        exit(EXIT_FAILURE);
}

/*
 * Processes, which end with this one
 */

static pid_t fork_child(void) {
        const pid_t parent = getpid(), pid = fork();

        if (pid < 0)
                die("cannot fork", -errno);
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (getppid() != parent)
                        _exit(EXIT_FAILURE);
        }
        return pid;
}

static void end_process(pid_t pid) {
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
}

static int make_listener(const char path[static 96]) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        memcpy(address.sun_path, path, 96);
        if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
            listen(fd, SOMAXCONN) < 0)
                die("cannot make a socket", -errno);
        return fd;
}

/* As wide as a session bus is: with the limits of libdbus. */
static void run_bus(const World *world) {
        char path[96], option[128];
        FILE *file;

        snprintf(path, sizeof(path), "%.31s/bus.conf", world->directory);
        file = fopen(path, "we");
        if (!file)
                die("cannot write the bus's configuration", -errno);
        fprintf(file,
                "<busconfig><type>session</type><listen>unix:path=%s</listen><auth>EXTERNAL</auth>"
                "<policy context=\"default\"><allow send_destination=\"*\" eavesdrop=\"true\"/>"
                "<allow eavesdrop=\"true\"/><allow own=\"*\"/></policy></busconfig>\n",
                world->bus_path);
        fclose(file);
        snprintf(option, sizeof(option), "--config-file=%s", path);
        execlp("dbus-daemon", "dbus-daemon", "--nofork", option, (char *)NULL);
        die("cannot start dbus-daemon", -errno);
}

static void run_service(const World *world, const char *program) {
        char address[128], pid[16];
        const int fd = make_listener(world->socket_path);

        dup2(fd, LISTEN_FD);
        snprintf(pid, sizeof(pid), "%d", (int)getpid());
        snprintf(address, sizeof(address), "unix:path=%s", world->bus_path);
        setenv("LISTEN_PID", pid, 1);
        setenv("LISTEN_FDS", "1", 1);
        setenv("DBUS_SESSION_BUS_ADDRESS", address, 1);
        execl(program, program, "--user", "--idle-timeout=infinity", (char *)NULL);
        die("cannot start desktraced", -errno);
}

static int get_version(sd_bus *bus,
                       const char *path,
                       const char *interface,
                       const char *property,
                       sd_bus_message *reply,
                       void *userdata,
                       sd_bus_error *error) {
        return sd_bus_message_append(reply, "s", "1.0");
}

static const sd_bus_vtable floor_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_VTABLE_END,
};

static void floor_serve(sd_bus *bus) {
        int r;

        r = sd_bus_add_object_vtable(bus, NULL, FLOOR_PATH, FLOOR_INTERFACE, floor_vtable, NULL);
        while (r >= 0) {
                r = sd_bus_process(bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(bus, UINT64_MAX);
        }
        _exit(EXIT_FAILURE);
}

static sd_bus *try_connect(const char *path, bool is_bus) {
        char address[128];
        sd_bus *bus;
        int r;

        snprintf(address, sizeof(address), "unix:path=%s", path);
        r = sd_bus_new(&bus);
        if (r >= 0)
                r = sd_bus_set_address(bus, address);
        if (r >= 0)
                r = sd_bus_set_bus_client(bus, is_bus);
        if (r >= 0)
                r = sd_bus_start(bus);
        return r < 0 ? sd_bus_unref(bus) : bus;
}

static sd_bus *connect_to(const char *path, bool is_bus) {
        sd_bus *bus = NULL;

        for (unsigned i = 0; i < CONNECT_TRIES && !bus; i++) {
                bus = try_connect(path, is_bus);
                if (!bus)
                        usleep(CONNECT_PAUSE_US);
        }
        if (!bus)
                die("cannot connect", -ENOTCONN);
        return bus;
}

static void run_floor_on_bus(const World *world) {
        sd_bus *bus = connect_to(world->bus_path, true);

        if (sd_bus_request_name(bus, FLOOR_NAME, 0) >= 0)
                floor_serve(bus);
        _exit(EXIT_FAILURE);
}

static void run_floor_on_socket(int listener) {
        const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        sd_id128_t id =
                SD_ID128_MAKE(6d, 79, 7e, 52, 5a, 8f, 46, d4, 9a, 2c, 51, 8f, 34, 25, b7, 01);
        sd_bus *bus;

        if (fd >= 0 && sd_bus_new(&bus) >= 0 && sd_bus_set_fd(bus, fd, fd) >= 0 &&
            sd_bus_set_server(bus, true, id) >= 0 && sd_bus_start(bus) >= 0)
                floor_serve(bus);
        _exit(EXIT_FAILURE);
}

/*
 * Measuring
 */

static int call(sd_bus *bus, bool is_floor) {
        return sd_bus_call_method(bus,
                                  is_floor ? FLOOR_NAME : TRACING_BUS_NAME,
                                  is_floor ? FLOOR_PATH : TRACING_PATH,
                                  "org.freedesktop.DBus.Properties",
                                  "Get",
                                  NULL,
                                  NULL,
                                  "ss",
                                  is_floor ? FLOOR_INTERFACE : TRACING_MANAGER_INTERFACE,
                                  "Version");
}

static void await(sd_bus *bus, bool is_floor) {
        int r = -ENOTCONN;

        for (unsigned i = 0; i < CONNECT_TRIES && r < 0; i++) {
                r = call(bus, is_floor);
                if (r < 0)
                        usleep(CONNECT_PAUSE_US);
        }
        if (r < 0)
                die(is_floor ? "the floor does not answer" : "the service does not answer", r);
}

/* Microseconds that a call takes. */
static double burst(sd_bus *bus, bool is_floor) {
        const uint64_t begin = bench_now_ns();

        for (unsigned i = 0; i < CALLS_PER_BURST; i++)
                if (call(bus, is_floor) < 0)
                        die("a call failed", -EIO);
        return (double)(bench_now_ns() - begin) / CALLS_PER_BURST / 1000;
}

static void measure(Route *route, unsigned round) {
        route->floor_us[round] = burst(route->floor, true);
        route->service_us[round] = burst(route->service, false);
        route->ratios[round] = route->service_us[round] / route->floor_us[round];
}

static bool report(Route *route, Way way) {
        const double ratio = bench_median(route->ratios, ROUNDS);
        const bool ok = ratio <= ways[way].at_most;

        printf("%-16s %7.1f us, floor %7.1f us: %5.2f x floor   (at most %.2f)%s\n",
               ways[way].name,
               bench_median(route->service_us, ROUNDS),
               bench_median(route->floor_us, ROUNDS),
               ratio,
               ways[way].at_most,
               ok ? "" : " MISSED");
        return ok;
}

/*
 * Worlds
 */

static void world_start(World *world, const char *program) {
        int listener;

        snprintf(world->directory, sizeof(world->directory), "/tmp/bench-bus-call-XXXXXX");
        if (!mkdtemp(world->directory))
                die("cannot make a directory", -errno);
        snprintf(world->bus_path, sizeof(world->bus_path), "%.31s/bus", world->directory);
        snprintf(world->socket_path, sizeof(world->socket_path), "%.31s/socket", world->directory);
        snprintf(world->floor_path, sizeof(world->floor_path), "%.31s/floor", world->directory);
        listener = make_listener(world->floor_path);
        world->bus = fork_child();
        if (world->bus == 0)
                run_bus(world);
        world->floors[WAY_BUS] = fork_child();
        if (world->floors[WAY_BUS] == 0)
                run_floor_on_bus(world);
        world->floors[WAY_SOCKET] = fork_child();
        if (world->floors[WAY_SOCKET] == 0)
                run_floor_on_socket(listener);
        close(listener);
        world->routes[WAY_BUS].floor = connect_to(world->bus_path, true);
        world->routes[WAY_SOCKET].floor = connect_to(world->floor_path, false);
        world->service = fork_child();
        if (world->service == 0)
                run_service(world, program);
        world->routes[WAY_BUS].service = connect_to(world->bus_path, true);
        world->routes[WAY_SOCKET].service = connect_to(world->socket_path, false);
        for (Way way = 0; way < N_WAYS; way++) {
                await(world->routes[way].floor, true);
                await(world->routes[way].service, false);
        }
}

static void world_end(World *world) {
        static const char *const files[] = { "bus", "socket", "floor", "bus.conf" };
        char path[96];

        for (Way way = 0; way < N_WAYS; way++) {
                sd_bus_flush_close_unref(world->routes[way].floor);
                sd_bus_flush_close_unref(world->routes[way].service);
                end_process(world->floors[way]);
        }
        end_process(world->service);
        end_process(world->bus);
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                snprintf(path, sizeof(path), "%.31s/%s", world->directory, files[i]);
                unlink(path);
        }
        rmdir(world->directory);
}

static World worlds[WORLDS_MAX];

int main(int argc, char *argv[]) {
        const char *const own[] = { DESKTRACED_PATH };
        const char *const *programs = argc > 1 ? (const char *const *)argv + 1 : own;
        const unsigned n = argc > 1 ? (unsigned)(argc - 1) : 1;
        bool ok = true;

        if (n > WORLDS_MAX)
                die("too many programs", -E2BIG);
        for (unsigned i = 0; i < n; i++)
                world_start(&worlds[i], programs[i]);
        for (unsigned round = 0; round < ROUNDS; round++)
                for (Way way = 0; way < N_WAYS; way++)
                        for (unsigned i = 0; i < n; i++)
                                measure(&worlds[i].routes[way], round);
        for (unsigned i = 0; i < n; i++) {
                if (n > 1)
                        printf("%s\n", programs[i]);
                for (Way way = 0; way < N_WAYS; way++)
                        ok &= report(&worlds[i].routes[way], way);
                world_end(&worlds[i]);
        }
        return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
