/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A private service with the probes, from processes to the trace file: needs root and tracefs.
 */

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <tracefs.h>
#include <unistd.h>

#include "host/packet-list.h"
#include "kernel.h"
#include "shared/fd.h"
#include "shared/log.h"
#include "shared/names.h"
#include "test.h"

#define N_ROUND_TRIPS   50000
#define PIDS_MAX        (1u << 20)
#define TRACE_BYTES_MAX (256u << 20)
#define WAIT_MS         10000

enum { PACKET_PREVIOUS_DROPPED = 42 };

static const char config_text[] =
        "buffers { size_kb: 65536 }\n"
        "data_sources { config { name: \"linux.ftrace\" ftrace_config {\n"
        "  ftrace_events: \"sched/sched_switch\" ftrace_events: \"sched/sched_waking\"\n"
        "  ftrace_events: \"task/task_newtask\" ftrace_events: \"csd/*\" buffer_size_kb: 16384 } } "
        "}\n"
        "data_sources { config { name: \"linux.process_stats\" process_stats_config {\n"
        "  scan_all_processes_on_start: true record_thread_names: true proc_stats_poll_ms: 200 } } "
        "}\n"
        "data_sources { config { name: \"linux.sys_stats\" sys_stats_config {\n"
        "  meminfo_period_ms: 100 vmstat_period_ms: 200 stat_period_ms: 200 } } }\n";

typedef struct World {
        char directory[64], socket[96];
        pid_t service, probes;
        sd_bus *bus;
        char *session;
        PacketList trace;
} World;

static pid_t spawn(const char *program, const char *socket_path, int listen_fd) {
        pid_t pid = fork();

        ck_assert_int_ge(pid, 0);
        if (pid > 0)
                return pid;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("DESKTRACE_LOG_LEVEL", "warning", 1);
        if (listen_fd >= 0) {
                char own[16];

                snprintf(own, sizeof(own), "%d", getpid());
                setenv("LISTEN_PID", own, 1);
                setenv("LISTEN_FDS", "1", 1);
                dup2(listen_fd, 3);
                if (listen_fd == 3)
                        fcntl(3, F_SETFD, 0);
        } else {
                setenv(TRACING_ENV_SOCKET, socket_path, 1);
        }
        execl(program, program, "--standalone", NULL);
        _exit(127);
}

static int make_listener(World *world) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd;

        strcpy(world->directory, "/tmp/desktrace-test-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(world->directory));
        snprintf(world->socket, sizeof(world->socket), "%s/native.sock", world->directory);
        strcpy(address.sun_path, world->socket);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        ck_assert_int_eq(listen(fd, 8), 0);
        return fd;
}

static void world_connect(World *world) {
        char address[128];

        snprintf(address, sizeof(address), "unix:path=%s", world->socket);
        ck_assert_int_ge(sd_bus_new(&world->bus), 0);
        ck_assert_int_ge(sd_bus_set_address(world->bus, address), 0);
        ck_assert_int_ge(sd_bus_start(world->bus), 0);
}

/* Until the probes have registered. */
static void world_wait_for_producer(World *world) {
        uint32_t n = 0;

        for (int i = 0; n == 0 && i < WAIT_MS / 10; i++) {
                ck_assert_int_ge(sd_bus_get_property_trivial(world->bus,
                                                             NULL,
                                                             TRACING_PATH,
                                                             TRACING_MANAGER_INTERFACE,
                                                             "NumProducers",
                                                             NULL,
                                                             'u',
                                                             &n),
                                 0);
                poll(NULL, 0, 10);
        }
        ck_assert_uint_eq(n, 1);
}

static World *world_new(void) {
        World *world = calloc(1, sizeof(*world));
        int fd;

        ck_assert_ptr_nonnull(world);
        world->trace = (PacketList)PACKET_LIST_INIT;
        fd = make_listener(world);
        world->service = spawn(DESKTRACED, NULL, fd);
        close(fd);
        world->probes = spawn(PROBES, world->socket, -1);
        world_connect(world);
        world_wait_for_producer(world);
        return world;
}

static void process_end(pid_t *pid) {
        int status;

        if (*pid <= 0)
                return;
        ck_assert_int_eq(kill(*pid, SIGTERM), 0);
        ck_assert_int_eq(waitpid(*pid, &status, 0), *pid);
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        *pid = 0;
}

static void world_free(World *world) {
        sd_bus_flush_close_unref(world->bus);
        process_end(&world->service);
        process_end(&world->probes);
        unlink(world->socket);
        rmdir(world->directory);
        packet_list_deinit(&world->trace);
        free(world->session);
        free(world);
}

static int world_start(World *world, const char *text, int output_fd, sd_bus_error *error) {
        sd_bus_message *call, *reply = NULL;
        const char *path;
        int r;

        ck_assert_int_ge(sd_bus_message_new_method_call(world->bus,
                                                        &call,
                                                        NULL,
                                                        TRACING_PATH,
                                                        TRACING_MANAGER_INTERFACE,
                                                        "StartSession"),
                         0);
        ck_assert_int_ge(
                sd_bus_message_append(
                        call, "a{sv}", 2, "config-text", "s", text, "output", "h", output_fd),
                0);
        r = sd_bus_call(world->bus, call, 0, error, &reply);
        if (r >= 0) {
                ck_assert_int_ge(sd_bus_message_read(reply, "o", &path), 0);
                world->session = strdup(path);
        }
        sd_bus_message_unref(call);
        sd_bus_message_unref(reply);
        return r;
}

static void world_stop(World *world, int output_fd) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        WireReader trace;
        WireField field;
        char *bytes;
        size_t n;
        int r;

        r = sd_bus_call_method(world->bus,
                               NULL,
                               world->session,
                               TRACING_SESSION_INTERFACE,
                               "Stop",
                               &error,
                               NULL,
                               "");
        ck_assert_msg(r >= 0, "Stop: %s", error.message);
        ck_assert_int_eq(lseek(output_fd, 0, SEEK_SET), 0);
        ck_assert_int_eq(fd_read_all(&bytes, &n, output_fd, TRACE_BYTES_MAX), 0);
        wire_reader_init(&trace, bytes, n);
        while ((r = wire_read(&trace, &field)) == 1)
                packet_list_write(&world->trace.sink, field.data, field.n_bytes);
        ck_assert_int_eq(r, 0);
        free(bytes);
}

static void pin_to_cpu_0(void) {
        cpu_set_t cpus;

        CPU_ZERO(&cpus);
        CPU_SET(0, &cpus);
        ck_assert_int_eq(sched_setaffinity(0, sizeof(cpus), &cpus), 0);
}

/* Two processes on CPU 0 that wait for each other. Returns the pid of the other one: it came to the CPU at least
 * once a round trip. */
static pid_t run_load(void) {
        int to[2], from[2];
        char byte = 'p';
        pid_t pid;

        ck_assert_int_eq(pipe2(to, O_CLOEXEC), 0);
        ck_assert_int_eq(pipe2(from, O_CLOEXEC), 0);
        /* Named from its birth on: a drain may meet it before it could name itself. */
        prctl(PR_SET_NAME, "known-load");
        pid = fork();
        ck_assert_int_ge(pid, 0);
        pin_to_cpu_0();
        if (pid == 0) {
                while (read(to[0], &byte, 1) == 1 && byte != 'q')
                        if (write(from[1], &byte, 1) != 1)
                                break;
                _exit(0);
        }
        prctl(PR_SET_NAME, "test-record");
        for (unsigned i = 0; i < N_ROUND_TRIPS; i++) {
                ck_assert_int_eq(write(to[1], &byte, 1), 1);
                ck_assert_int_eq(read(from[0], &byte, 1), 1);
        }
        poll(NULL, 0, 300); /* a drain and a poll meet it alive */
        byte = 'q';
        ck_assert_int_eq(write(to[1], &byte, 1), 1);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        for (size_t i = 0; i < 2; i++) {
                close(to[i]);
                close(from[i]);
        }
        return pid;
}

static size_t count_switches_to(World *world, pid_t pid) {
        uint64_t *pids = calloc(PIDS_MAX, sizeof(*pids));
        size_t n_found = 0;

        ck_assert_ptr_nonnull(pids);
        for (size_t i = 0; i < world->trace.n; i++) {
                WireReader bundle, compact;
                size_t n;

                if (!packet_list_payload(&world->trace, i, PACKET_FTRACE_EVENTS, &bundle) ||
                    !message_submessage(bundle, 4, 0, &compact))
                        continue;
                ck_assert_uint_eq(message_count(bundle, 3), 0); /* lost_events */
                n = message_packed(compact, 3, pids, PIDS_MAX);
                for (size_t k = 0; k < n; k++)
                        n_found += pids[k] == (uint64_t)pid;
        }
        free(pids);
        return n_found;
}

static size_t count_packets(World *world, uint32_t number) {
        WireReader packet;
        size_t n = 0;

        for (size_t i = 0; i < world->trace.n; i++) {
                wire_reader_init(&packet, world->trace.packets[i].data, world->trace.packets[i].n);
                n += message_count(packet, number) > 0;
        }
        return n;
}

/* Whether a tree packet names the process, by the name of its thread. */
static bool tree_has(World *world, pid_t pid, const char *name) {
        WireReader tree, thread;

        for (size_t i = 0; packet_list_find(&world->trace, PACKET_PROCESS_TREE, i, &tree); i++)
                for (size_t k = 0; message_submessage(tree, 2, k, &thread); k++)
                        if (message_uint(thread, 1) == (uint64_t)pid &&
                            message_has_text(thread, 2, name))
                                return true;
        return false;
}

START_TEST(test_a_known_load_is_in_the_trace_with_names_and_counters) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        World *world = world_new();
        FILE *output = tmpfile();
        WireReader stats;
        size_t n_found;
        pid_t pid;

        ck_assert_ptr_nonnull(output);
        ck_assert_msg(
                world_start(world, config_text, fileno(output), &error) >= 0, "%s", error.message);
        pid = run_load();
        world_stop(world, fileno(output));
        fclose(output);

        n_found = count_switches_to(world, pid);
        ck_assert_msg(n_found >= N_ROUND_TRIPS, "%zu of %d switches", n_found, N_ROUND_TRIPS);
        ck_assert_uint_eq(count_packets(world, PACKET_PREVIOUS_DROPPED), 0);
        ck_assert_uint_ge(count_packets(world, PACKET_FTRACE_STATS), 2);
        ck_assert(tree_has(world, 1, "systemd") || count_packets(world, PACKET_PROCESS_TREE) >= 2);
        ck_assert(tree_has(world, pid, "known-load"));
        ck_assert_uint_ge(count_packets(world, PACKET_PROCESS_STATS), 2);
        ck_assert_uint_ge(count_packets(world, PACKET_SYS_STATS), 4);
        ck_assert(packet_list_find(&world->trace, PACKET_SYS_STATS, 0, &stats));
        ck_assert_uint_ge(message_count(stats, 1), 20); /* meminfo */
        world_free(world);
}
END_TEST

/* What the session's owner is told about its only data source. */
static void check_failure(World *world, const char *needle) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        const char *source, *producer, *state;
        sd_bus_message *reply;
        uint32_t uid, pid;

        ck_assert_int_ge(sd_bus_get_property(world->bus,
                                             NULL,
                                             world->session,
                                             TRACING_SESSION_INTERFACE,
                                             "Sources",
                                             &error,
                                             &reply,
                                             "a(ssuus)"),
                         0);
        ck_assert_int_ge(sd_bus_message_enter_container(reply, 'a', "(ssuus)"), 0);
        ck_assert_int_gt(
                sd_bus_message_read(reply, "(ssuus)", &source, &producer, &uid, &pid, &state), 0);
        ck_assert_str_eq(source, "linux.ftrace");
        ck_assert_msg(strstr(state, needle), "%s", state);
        sd_bus_message_unref(reply);
}

START_TEST(test_an_unknown_event_is_told_with_the_nearest_name) {
        static const char text[] =
                "buffers { size_kb: 1024 }\n"
                "data_sources { config { name: \"linux.ftrace\" ftrace_config {\n"
                "  ftrace_events: \"sched/sched_swich\" } } }\n";
        sd_bus_error error = SD_BUS_ERROR_NULL;
        World *world = world_new();
        FILE *output = tmpfile();

        if (world_start(world, text, fileno(output), &error) < 0)
                ck_assert_msg(strstr(error.message, "\"sched/sched_switch\""), "%s", error.message);
        else
                check_failure(world, "\"sched/sched_switch\"");
        sd_bus_error_free(&error);
        fclose(output);
        world_free(world);
}
END_TEST

START_TEST(test_without_a_service_on_the_socket_the_probes_say_so_and_fail) {
        World *world = world_new();
        int status;

        process_end(&world->service);
        process_end(&world->probes);
        world->probes = spawn(PROBES, world->socket, -1);
        ck_assert_int_eq(waitpid(world->probes, &status, 0), world->probes);
        world->probes = 0;
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
        world_free(world);
}
END_TEST

int main(void) {
        const TTest *tests[] = {
                test_a_known_load_is_in_the_trace_with_names_and_counters,
                test_an_unknown_event_is_told_with_the_nearest_name,
                test_without_a_service_on_the_socket_the_probes_say_so_and_fail,
        };

        log_init("test-record");
        if (kernel_why_not()) {
                printf("1..0 # SKIP %s\n", kernel_why_not());
                return EXIT_SUCCESS;
        }
        return test_run("record", tests, ARRAY_SIZE(tests));
}
