/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Standalone: a service of our own, for one recording */

#include <errno.h>
#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "build-config.h"
#include "client/process.h"
#include "client/say.h"
#include "client/standalone.h"
#include "shared/fd.h"
#include "shared/names.h"
#include "shared/text.h"

#define LIST_TIMEOUT_MS     60000
#define PROBES_TIMEOUT_USEC (10 * G_USEC_PER_SEC)
#define PROBES_PAUSE_USEC   G_USEC_PER_SEC /* after one source, if no other follows */
#define PROBES_POLL_USEC    (20 * 1000)
#define END_GRACE_MS        3000
#define WAKE_TIMEOUT_USEC   (5 * G_USEC_PER_SEC)
#define SOCKET_NAME         "native.sock"
#define NOTIFY_NAME         "notify.sock"

/* The sources that are not named after the kernel, with which the names of all their others begin. */
static const char *const other_probe_sources[] = {
        "org.freedesktop.systemd",
        "org.freedesktop.login1",
        TRACING_OWN_STACKS_SOURCE,
};

static const char *const bridge_sources[] = {
        "org.freedesktop.dbus",  "org.gnome.sysprof", "org.mozilla.firefox",
        "org.pipewire.profiler", "org.x.present",
};

bool standalone_is_bridge_source(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(bridge_sources); i++)
                if (streq(bridge_sources[i], name))
                        return true;
        return false;
}

bool standalone_is_probe_source(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(other_probe_sources); i++)
                if (streq(other_probe_sources[i], name))
                        return true;
        return g_str_has_prefix(name, PROBE_PREFIX);
}

/* Where a program is: where the environment says, beside us in a build tree, or installed. */
static char *program_path(const char *variable, const char *in_build, const char *installed) {
        const char *path = g_getenv(variable);
        g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
        g_autofree char *directory = self ? g_path_get_dirname(self) : NULL;
        g_autofree char *built =
                directory ? g_build_filename(directory, "..", in_build, NULL) : NULL;

        if (path && *path)
                return g_strdup(path);
        if (built && g_file_test(built, G_FILE_TEST_IS_EXECUTABLE))
                return g_steal_pointer(&built);
        return g_strdup(installed);
}

static ExitStatus say_no_start(const char *path, int r) {
        say_error(_("cannot start %s: %s"), path, g_strerror(-r));
        return STATUS_NO_SERVICE;
}

static ExitStatus spawn_helper(pid_t *ret,
                               const char *path,
                               const char *socket,
                               const ProcessSocket *listen,
                               size_t n_listen) {
        const char *const argv[] = { path, socket ? "--standalone" : "--user", NULL };
        const ProcessVariable variables[] = { { TRACING_ENV_SOCKET, socket, false }, { 0 } };
        const ProcessSpec spec = {
                .argv = argv,
                .variables = variables,
                .listen = listen,
                .n_listen = n_listen,
                .is_helper = true,
        };
        int r = process_spawn(ret, &spec);

        return r < 0 ? say_no_start(path, r) : STATUS_OK;
}

static int make_listener(int *ret, const char *path) {
        _cleanup_(fd_closep) int fd = -1;
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        strcpy(address.sun_path, path);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, SOMAXCONN) < 0)
                return -errno;
        *ret = TAKE_FD(fd);
        return 0;
}

static int make_directory(Standalone *standalone) {
        standalone->directory = g_build_filename(g_get_tmp_dir(), "desktrace-XXXXXX", NULL);
        if (!g_mkdtemp_full(standalone->directory, 0700)) {
                int r = -errno;

                g_clear_pointer(&standalone->directory, g_free);
                return r;
        }
        standalone->socket = g_build_filename(standalone->directory, SOCKET_NAME, NULL);
        standalone->producer_socket =
                g_build_filename(standalone->directory, TRACING_PERFETTO_PRODUCER_NAME, NULL);
        standalone->consumer_socket =
                g_build_filename(standalone->directory, TRACING_PERFETTO_CONSUMER_NAME, NULL);
        return 0;
}

static ExitStatus say_dead(const char *name, int exit_status) {
        say_error(_("%s exited immediately with status %d"), name, exit_status);
        return STATUS_NO_SERVICE;
}

/* A helper that ended already; its status says more than a broken connection. */
static bool helper_is_dead(pid_t *pid, const char *name) {
        int status;

        if (*pid <= 0 || waitpid(*pid, &status, WNOHANG) != *pid)
                return false;
        *pid = 0;
        say_dead(name, process_exit_status(status));
        return true;
}

/* The first call proves that somebody answers. */
static ExitStatus connect_to_service(Standalone *standalone, BusClient *client, Waiting *waiting) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL, *reply = NULL;
        ExitStatus status;
        int exit_status, r;

        r = bus_client_open_socket(client, standalone->socket);
        if (r >= 0)
                r = bus_client_new_call(
                        client, &call, TRACING_PATH, "org.freedesktop.DBus.Properties", "Get");
        if (r >= 0)
                r = sd_bus_message_append(call, "ss", TRACING_MANAGER_INTERFACE, "Version");
        if (r < 0)
                return bus_client_say_errno(r);
        status = waiting_send(waiting, client, call, BUS_CALL_TIMEOUT_USEC, &reply);
        if (status || !sd_bus_message_is_method_error(reply, NULL))
                return status;
        if (service_keeper_has_failed(standalone->service, &exit_status))
                return say_dead("desktraced", exit_status);
        return bus_client_say_error(sd_bus_message_get_error(reply));
}

static void close_listeners(ProcessSocket sockets[static PROCESS_SOCKETS_MAX]) {
        for (size_t i = 0; i < PROCESS_SOCKETS_MAX; i++)
                sockets[i].fd = fd_close(sockets[i].fd);
}

static int make_listeners(const Standalone *standalone,
                          ProcessSocket sockets[static PROCESS_SOCKETS_MAX]) {
        const char *const paths[PROCESS_SOCKETS_MAX] = {
                standalone->socket,
                standalone->producer_socket,
                standalone->consumer_socket,
        };
        int r = 0;

        for (size_t i = 0; r == 0 && i < PROCESS_SOCKETS_MAX; i++)
                r = make_listener(&sockets[i].fd, paths[i]);
        return r;
}

static ExitStatus keep_service(Standalone *standalone,
                               const ProcessSocket sockets[static PROCESS_SOCKETS_MAX]) {
        g_autofree char *path =
                program_path("DESKTRACE_DAEMON", "daemon/desktraced", DESKTRACED_PATH);
        g_autofree char *notify_path = g_build_filename(standalone->directory, NOTIFY_NAME, NULL);
        const ServiceKeeperOptions options = {
                .program = path,
                .notify_path = notify_path,
                .listening = sockets,
                .n_listening = PROCESS_SOCKETS_MAX,
        };
        int r = service_keeper_new(&standalone->service, &options);

        return r < 0 ? say_no_start(path, r) : STATUS_OK;
}

static ExitStatus start_service(Standalone *standalone,
                                ProcessSocket sockets[static PROCESS_SOCKETS_MAX]) {
        int r;

        r = make_directory(standalone);
        if (r == 0)
                r = make_listeners(standalone, sockets);
        if (r == 0)
                return keep_service(standalone, sockets);
        say_error(_("cannot make a socket in %s: %s"), g_get_tmp_dir(), g_strerror(-r));
        return STATUS_FAILED;
}

ExitStatus standalone_start(Standalone *standalone, BusClient *client, Waiting *waiting) {
        ProcessSocket sockets[PROCESS_SOCKETS_MAX] = {
                { -1, "native" },
                { -1, TRACING_PRODUCER_SOCKET },
                { -1, TRACING_CONSUMER_SOCKET },
        };
        ExitStatus status = start_service(standalone, sockets);

        /* The keeper has its own. When it closes them, connections must fail instead of waiting. */
        close_listeners(sockets);
        return status ? status : connect_to_service(standalone, client, waiting);
}

/* The names of all data sources, as ListSources() answers. */
static int read_names(sd_bus_message *reply, GPtrArray *names) {
        const char *source;
        int r;

        r = sd_bus_message_enter_container(reply, 'a', "(saoa{sv})");
        while (r >= 0 && (r = sd_bus_message_enter_container(reply, 'r', "saoa{sv}")) > 0) {
                r = sd_bus_message_read(reply, "s", &source);
                if (r < 0)
                        return r;
                g_ptr_array_add(names, g_strdup(source));
                r = sd_bus_message_skip(reply, "aoa{sv}");
                if (r >= 0)
                        r = sd_bus_message_exit_container(reply);
        }
        return r;
}

static ExitStatus list_sources(const BusClient *client, GPtrArray *names) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        ExitStatus status;
        int r;

        status = bus_client_call(
                client, &reply, TRACING_PATH, TRACING_MANAGER_INTERFACE, "ListSources", NULL);
        if (status)
                return status;
        r = read_names(reply, names);
        return r < 0 ? bus_client_say_errno(r) : STATUS_OK;
}

/* The first of the sources that the service does not know, or NULL. */
static const char *find_missing(char *const *sources, GPtrArray *names) {
        while (*sources && g_ptr_array_find_with_equal_func(names, *sources, g_str_equal, NULL))
                sources++;
        return *sources;
}

static guint count_helper_sources(const GPtrArray *names) {
        guint n = 0;

        for (guint i = 0; i < names->len; i++)
                n += standalone_is_probe_source(g_ptr_array_index(names, i)) ||
                     standalone_is_bridge_source(g_ptr_array_index(names, i));
        return n;
}

static ExitStatus say_missing(const char *source, const GPtrArray *names) {
        const char *nearest = text_nearest(source, (const char *const *)names->pdata, names->len);

        if (nearest)
                say_error(_("there is no data source '%s' on this machine. Did you mean '%s'?"),
                          source,
                          nearest);
        else
                say_error(_("there is no data source '%s' on this machine; \"desktrace list "
                            "sources --standalone\" shows those that exist"),
                          source);
        return STATUS_NOT_FOUND;
}

/* A helper registers one source after another, without a pause. */
static ExitStatus wait_for_sources(pid_t *helper,
                                   const char *program,
                                   const BusClient *client,
                                   Waiting *waiting,
                                   char *const *sources) {
        gint64 deadline = g_get_monotonic_time() + PROBES_TIMEOUT_USEC;
        guint n_known = 0;

        for (;;) {
                g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
                ExitStatus status = list_sources(client, names);
                const char *missing = find_missing(sources, names);

                if (status || !missing)
                        return status;
                if (helper_is_dead(helper, program))
                        return STATUS_NO_SERVICE;
                if (count_helper_sources(names) != n_known)
                        deadline = g_get_monotonic_time() + PROBES_PAUSE_USEC;
                n_known = count_helper_sources(names);
                if (g_get_monotonic_time() >= deadline)
                        return say_missing(missing, names);
                status = waiting_sleep(waiting, PROBES_POLL_USEC);
                if (status)
                        return status;
        }
}

char *standalone_heap_library(void) {
        return program_path(
                "DESKTRACE_HEAP_LIBRARY", "heap/libdesktrace-heap.so", HEAP_LIBRARY_PATH);
}

static char *probes_path(void) {
        return program_path("DESKTRACE_PROBES", "probes/desktrace-probes", PROBES_PATH);
}

ExitStatus standalone_start_probes(Standalone *standalone,
                                   const BusClient *client,
                                   Waiting *waiting,
                                   char *const *sources) {
        g_autofree char *path = probes_path();
        ExitStatus status;

        status = spawn_helper(&standalone->probes, path, standalone->socket, NULL, 0);
        return status ? status
                      : wait_for_sources(
                                &standalone->probes, "desktrace-probes", client, waiting, sources);
}

static ExitStatus
spawn_bridges(Standalone *standalone, const ProcessSocket *sockets, size_t n_sockets) {
        g_autofree char *path =
                program_path("DESKTRACE_BRIDGES", "bridges/desktrace-bridges", BRIDGES_PATH);

        return spawn_helper(&standalone->bridges, path, standalone->socket, sockets, n_sockets);
}

void standalone_wake_bridges(void) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        int r;

        r = sd_bus_open_user(&bus);
        if (r >= 0)
                r = sd_bus_set_method_call_timeout(bus, WAKE_TIMEOUT_USEC);
        if (r >= 0)
                (void)sd_bus_call_method(bus,
                                         "org.freedesktop.DBus",
                                         "/org/freedesktop/DBus",
                                         "org.freedesktop.DBus",
                                         "StartServiceByName",
                                         NULL,
                                         NULL,
                                         "su",
                                         TRACING_BRIDGES_BUS_NAME,
                                         0);
}

ExitStatus standalone_start_bridges(Standalone *standalone,
                                    const BusClient *client,
                                    Waiting *waiting,
                                    char *const *sources,
                                    const CommandEnds *ends) {
        ProcessSocket sockets[COMMAND_SOURCES_MAX];
        const size_t n_sockets = command_ends_sockets(ends, sockets);
        ExitStatus status = STATUS_OK;

        if (standalone->socket || n_sockets > 0)
                status = spawn_bridges(standalone, sockets, n_sockets);
        if (status || !standalone->socket)
                return status;
        return wait_for_sources(
                &standalone->bridges, "desktrace-bridges", client, waiting, sources);
}

ExitStatus standalone_list_static_probes(const char *path) {
        g_autofree char *program = probes_path();
        g_autofree char *option = g_strdup_printf("--list-static-probes=%s", path);
        const char *const argv[] = { program, option, NULL };
        const ProcessSpec spec = { .argv = argv, .is_helper = true };
        pid_t pid;
        int r;

        r = process_spawn(&pid, &spec);
        if (r < 0) {
                say_error(_("cannot start %s: %s"), program, g_strerror(-r));
                return STATUS_FAILED;
        }
        return process_wait(&pid, LIST_TIMEOUT_MS) == 0 ? STATUS_OK : STATUS_FAILED;
}

/* Removes what killed probes leave in the kernel. A systemd unit has ExecStopPost= for that. */
static void clean_up_after_probes(void) {
        g_autofree char *path = probes_path();
        const char *const argv[] = { path, "--cleanup", NULL };
        const ProcessSpec spec = { .argv = argv, .is_helper = true };
        pid_t pid;

        if (process_spawn(&pid, &spec) == 0)
                process_wait(&pid, END_GRACE_MS);
}

static void remove_socket(char **path) {
        if (*path)
                unlink(*path);
        g_clear_pointer(path, g_free);
}

void standalone_deinit(Standalone *standalone) {
        if (process_end(&standalone->probes, END_GRACE_MS) != 0)
                clean_up_after_probes();
        process_end(&standalone->bridges, END_GRACE_MS);
        standalone->service = service_keeper_free(standalone->service);
        remove_socket(&standalone->socket);
        remove_socket(&standalone->producer_socket);
        remove_socket(&standalone->consumer_socket);
        if (standalone->directory)
                rmdir(standalone->directory);
        g_clear_pointer(&standalone->directory, g_free);
}
