/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* World: a private service, started as `desktrace record --standalone` or the session bus would start it */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scale.h"
#include "shared/fd.h"
#include "shared/names.h"

#define LISTEN_FD         3 /* sd_listen_fds(3) */
#define FOREIGN_ENV       "PERFETTO_PRODUCER_SOCK_NAME"
#define CALL_TIMEOUT_USEC (120 * UINT64_C(1000000))
#define CONNECT_TRIES     500
#define CONNECT_PAUSE_MS  10

static void make_directory(World *world) {
        static const char *const places[] = { "/dev/shm", "/tmp" };

        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                snprintf(world->directory,
                         sizeof(world->directory),
                         "%s/bench-scale-XXXXXX",
                         places[i]);
                if (mkdtemp(world->directory))
                        return;
        }
        die("cannot make a directory", -errno);
}

void world_init(World *world) {
        make_directory(world);
        snprintf(world->socket, sizeof(world->socket), "%s/socket", world->directory);
        snprintf(world->foreign_socket,
                 sizeof(world->foreign_socket),
                 "%s/foreign",
                 world->directory);
        snprintf(world->address, sizeof(world->address), "unix:path=%s", world->socket);
}

static void remove_file(const World *world, const char *name) {
        char path[96];

        snprintf(path, sizeof(path), "%s/%s", world->directory, name);
        unlink(path);
}

void world_deinit(World *world) {
        world_end_service(world);
        remove_file(world, "socket");
        remove_file(world, "foreign");
        remove_file(world, "bus.conf");
        rmdir(world->directory);
}

void world_set_environment(const World *world) {
        setenv(FOREIGN_ENV, world->foreign_socket, 1);
        if (!world->on_bus) {
                setenv(TRACING_ENV_SOCKET, world->socket, 1);
                return;
        }
        unsetenv(TRACING_ENV_SOCKET);
        setenv("DBUS_SESSION_BUS_ADDRESS", world->address, 1);
        /* A bus that is not there, so that only one service is. */
        setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bench-scale", 1);
}

void world_program_path(char ret[static 4096], const char *variable, const char *in_build) {
        const char *path = getenv(variable);
        char self[2048];
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

        if (n < 0)
                die("cannot find this program", -errno);
        self[n] = 0;
        *strrchr(self, '/') = 0;
        if (path)
                snprintf(ret, 4096, "%s", path);
        else
                snprintf(ret, 4096, "%s/%s", self, in_build);
}

/*
 * The two ways to be a service
 */

static int make_listener(const char path[static 96]) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        unlink(path);
        memcpy(address.sun_path, path, 96);
        if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
            listen(fd, SOMAXCONN) < 0)
                die("cannot make a socket", -errno);
        return fd;
}

/* As systemd passes them. The copies lie above where they go. */
static void pass_listeners(int fd, int foreign_fd) {
        const int high_fd = fcntl(fd, F_DUPFD_CLOEXEC, LISTEN_FD + 2);
        const int high_foreign_fd = fcntl(foreign_fd, F_DUPFD_CLOEXEC, LISTEN_FD + 2);
        char pid[16];

        dup2(high_fd, LISTEN_FD);
        dup2(high_foreign_fd, LISTEN_FD + 1);
        snprintf(pid, sizeof(pid), "%d", (int)getpid());
        setenv("LISTEN_PID", pid, 1);
        setenv("LISTEN_FDS", "2", 1);
        setenv("LISTEN_FDNAMES", "native:" TRACING_PRODUCER_SOCKET, 1);
}

/* In the child: never outlives us. */
static pid_t fork_child(void) {
        pid_t parent = getpid(), pid = fork();

        if (pid < 0)
                die("cannot fork", -errno);
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (getppid() != parent)
                        _exit(EXIT_FAILURE);
        }
        return pid;
}

static void start_daemon(World *world, int listen_fd, int foreign_fd) {
        char path[4096];

        world_program_path(path, "DESKTRACE_DAEMON", "../../src/daemon/desktraced");
        world->service = fork_child();
        if (world->service > 0)
                return;
        world_set_environment(world);
        if (listen_fd >= 0)
                pass_listeners(listen_fd, foreign_fd);
        execl(path,
              path,
              world->on_bus ? "--user" : "--standalone",
              "--idle-timeout=infinity",
              (char *)NULL);
        fprintf(stderr, "bench-scale: cannot start %s: %s\n", path, strerror(errno));
        _exit(EXIT_FAILURE);
}

/* A session bus as every desktop has it, but for its name and without service files; its limits are those of
 * the session.conf that dbus installs. */
static void write_bus_config(const World *world, const char *path) {
        FILE *file = fopen(path, "we");

        if (!file)
                die("cannot write the bus's configuration", -errno);
        fprintf(file,
                "<busconfig><type>session</type><listen>%s</listen><auth>EXTERNAL</auth>"
                "<policy context=\"default\"><allow send_destination=\"*\" eavesdrop=\"true\"/>"
                "<allow eavesdrop=\"true\"/><allow own=\"*\"/></policy>"
                "<limit name=\"max_incoming_bytes\">1000000000</limit>"
                "<limit name=\"max_outgoing_bytes\">1000000000</limit>"
                "<limit name=\"max_message_size\">1000000000</limit>"
                "<limit name=\"max_incoming_unix_fds\">250000000</limit>"
                "<limit name=\"max_outgoing_unix_fds\">250000000</limit>"
                "<limit name=\"max_completed_connections\">100000</limit>"
                "<limit name=\"max_incomplete_connections\">10000</limit>"
                "<limit name=\"max_connections_per_user\">100000</limit>"
                "<limit name=\"max_match_rules_per_connection\">50000</limit>"
                "<limit name=\"max_replies_per_connection\">50000</limit></busconfig>\n",
                world->address);
        fclose(file);
}

static void start_broker(World *world) {
        char path[96], option[128];

        snprintf(path, sizeof(path), "%s/bus.conf", world->directory);
        write_bus_config(world, path);
        unlink(world->socket);
        world->broker = fork_child();
        if (world->broker > 0)
                return;
        snprintf(option, sizeof(option), "--config-file=%s", path);
        /* It complains about limits that it cannot raise, and does without. */
        if (!freopen("/dev/null", "we", stderr))
                _exit(EXIT_FAILURE);
        execlp("dbus-daemon", "dbus-daemon", "--nofork", option, (char *)NULL);
        _exit(EXIT_FAILURE);
}

/*
 * Connecting
 */

static int try_connect(const World *world, sd_bus **ret) {
        _cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
        int r;

        r = sd_bus_new(&bus);
        if (r < 0)
                return r;
        r = sd_bus_set_address(bus, world->address);
        if (r < 0)
                return r;
        r = sd_bus_set_bus_client(bus, world->on_bus);
        if (r < 0)
                return r;
        sd_bus_set_method_call_timeout(bus, CALL_TIMEOUT_USEC);
        r = sd_bus_start(bus);
        if (r < 0)
                return r;
        r = sd_bus_call_method(bus,
                               TRACING_BUS_NAME,
                               TRACING_PATH,
                               "org.freedesktop.DBus.Properties",
                               "Get",
                               NULL,
                               NULL,
                               "ss",
                               TRACING_MANAGER_INTERFACE,
                               "Version");
        if (r >= 0)
                *ret = TAKE(bus);
        return r;
}

void world_connect(const World *world, sd_bus **ret) {
        int r = -ENOTCONN;

        for (unsigned i = 0; i < CONNECT_TRIES && r < 0; i++) {
                r = try_connect(world, ret);
                if (r < 0)
                        sleep_ms(CONNECT_PAUSE_MS);
        }
        if (r < 0)
                die("cannot connect to the service", r);
}

void world_start_service(World *world) {
        _cleanup_(fd_closep) int listen_fd = -1, foreign_fd = -1;

        if (world->on_bus) {
                start_broker(world);
        } else {
                listen_fd = make_listener(world->socket);
                foreign_fd = make_listener(world->foreign_socket);
        }
        for (unsigned i = 0; world->on_bus && access(world->socket, F_OK) < 0; i++) {
                if (i == CONNECT_TRIES)
                        die("dbus-daemon does not start", 0);
                sleep_ms(CONNECT_PAUSE_MS);
        }
        start_daemon(world, listen_fd, foreign_fd);
        world_connect(world, &world->bus);
}

static pid_t end_process(pid_t pid, int signal_number) {
        if (pid <= 0)
                return 0;
        kill(pid, signal_number);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
        return 0;
}

void world_kill_service(World *world) {
        world->service = end_process(world->service, SIGKILL);
}

void world_end_service(World *world) {
        world->bus = sd_bus_flush_close_unref(world->bus);
        world->service = end_process(world->service, SIGTERM);
        world->broker = end_process(world->broker, SIGTERM);
}
