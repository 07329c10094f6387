/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The library on a message bus: a private dbus-daemon that would start the service, if only somebody asked it to. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "desktrace/source.h"
#include "fake-service.h"
#include "shared/fd.h"
#include "shared/names.h"
#include "shared/pid-namespace.h"

static const char bus_config[] =
        "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\"\n"
        " \"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n"
        "<busconfig><type>session</type><listen>unix:path=%1$s/bus</listen>\n"
        "<servicedir>%1$s</servicedir>\n"
        "<limit name=\"service_start_timeout\">500</limit>\n"
        "<policy context=\"default\"><allow send_destination=\"*\"/><allow own=\"*\"/>\n"
        "<allow receive_sender=\"*\"/></policy></busconfig>\n";

static const char service_file[] =
        "[D-BUS Service]\nName=" TRACING_BUS_NAME "\nExec=/bin/touch %1$s/started\n";

typedef struct Bus {
        char dir[64];
        char address[96];
        pid_t pid;
} Bus;

static void write_file(const Bus *bus, const char *name, const char *format) {
        char path[128];
        FILE *file;

        snprintf(path, sizeof(path), "%s/%s", bus->dir, name);
        file = fopen(path, "we");
        ck_assert_ptr_nonnull(file);
        fprintf(file, format, bus->dir);
        fclose(file);
}

static bool exists(const Bus *bus, const char *name) {
        char path[128];

        snprintf(path, sizeof(path), "%s/%s", bus->dir, name);
        return access(path, F_OK) == 0;
}

static bool reachable(const Bus *bus) {
        _cleanup_(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        snprintf(address.sun_path, sizeof(address.sun_path), "%s/bus", bus->dir);
        return connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
}

static void bus_start(Bus *bus) {
        char config[128];

        snprintf(config, sizeof(config), "--config-file=%s/config", bus->dir);
        bus->pid = fork();
        ck_assert_int_ge(bus->pid, 0);
        if (bus->pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                execlp("dbus-daemon", "dbus-daemon", "--nofork", "--nopidfile", config, NULL);
                _exit(127);
        }
        for (unsigned i = 0; !reachable(bus); i++) {
                ck_assert_uint_lt(i, 10000);
                usleep(1000);
        }
}

static void bus_stop(Bus *bus) {
        char path[128];

        ck_assert_int_eq(kill(bus->pid, SIGKILL), 0);
        ck_assert_int_eq(waitpid(bus->pid, NULL, 0), bus->pid);
        snprintf(path, sizeof(path), "%s/bus", bus->dir);
        unlink(path);
}

/* Not running yet. The library finds it as the session bus; there is no system bus. */
static void bus_init(Bus *bus) {
        strcpy(bus->dir, "/tmp/desktrace-test-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(bus->dir));
        snprintf(bus->address, sizeof(bus->address), "unix:path=%s/bus", bus->dir);
        write_file(bus, "config", bus_config);
        write_file(bus, "test.service", service_file);
        setenv("DBUS_SESSION_BUS_ADDRESS", bus->address, 1);
        setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent", 1);
        unsetenv(TRACING_ENV_SOCKET);
}

static void bus_deinit(Bus *bus) {
        static const char *const names[] = { "config", "test.service", "started", "bus" };
        char path[128];

        bus_stop(bus);
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                snprintf(path, sizeof(path), "%s/%s", bus->dir, names[i]);
                unlink(path);
        }
        rmdir(bus->dir);
}

static _Atomic unsigned n_gone;

static const char *
on_setup(dt_instance *instance, const void *config, size_t n_config, void *userdata) {
        return NULL;
}

static void on_gone(dt_instance *instance, void *userdata) {
        n_gone++;
}

static const dt_source_ops ops = { .setup = on_setup, .gone = on_gone };

static void wait_until_gone(unsigned n) {
        for (unsigned i = 0; n_gone < n; i++) {
                ck_assert_uint_lt(i, 10000);
                usleep(1000);
        }
}

static sd_bus *bus_connect(const Bus *bus) {
        sd_bus *connection;

        ck_assert_int_ge(sd_bus_new(&connection), 0);
        ck_assert_int_ge(sd_bus_set_address(connection, bus->address), 0);
        ck_assert_int_ge(sd_bus_set_bus_client(connection, true), 0);
        ck_assert_int_ge(sd_bus_start(connection), 0);
        return connection;
}

static void start_service(const Bus *bus) {
        _cleanup_(sd_bus_close_unrefp) sd_bus *connection = bus_connect(bus);

        /* Fails, because the program that is started does not take the name. */
        ck_assert_int_lt(sd_bus_call_method(connection,
                                            "org.freedesktop.DBus",
                                            "/org/freedesktop/DBus",
                                            "org.freedesktop.DBus",
                                            "StartServiceByName",
                                            NULL,
                                            NULL,
                                            "su",
                                            TRACING_BUS_NAME,
                                            0),
                         0);
}

/* Only what is not in the first pid namespace says where it is. */
static void assert_knows_our_namespace(const Fake *fake) {
        uint64_t namespace;

        ck_assert_int_eq(pid_namespace_get(&namespace), 0);
        if (namespace == PID_NAMESPACE_INITIAL)
        namespace = 0;
        ck_assert_uint_eq(fake->pid_namespace, namespace);
        ck_assert_int_eq(fake->has_proof, namespace != 0);
}

/* All in one: without fork the library of this process has the bus that it found first. */
START_TEST(test_the_service_is_found_on_its_bus_and_never_started) {
        _cleanup_(sd_bus_close_unrefp) sd_bus *stranger = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        dt_source *source;
        Bus bus = { 0 };
        Fake fake;

        /* A bus that comes late. */
        bus_init(&bus);
        ck_assert_int_eq(dt_source_register(&source, "test.source", NULL, &ops, NULL), 0);
        usleep(50000);
        bus_start(&bus);
        usleep(500000);
        ck_assert(!exists(&bus, "started"));

        /* A service that comes late. */
        fake_own_name(&fake, bus.address);
        fake_await(&fake);
        ck_assert_ptr_nonnull(fake_source(&fake, "test.source"));
        assert_knows_our_namespace(&fake);
        fake_setup_memory(&fake, FAKE_PAGES_BYTES, 4096);
        ck_assert_int_eq(fake_setup_buffer(&fake, 1, "test.source", 1), 0);
        ck_assert_int_eq(fake_start(&fake, 1), 0);
        ck_assert(dt_source_enabled(source));

        /* Somebody else on the bus has no say. */
        stranger = bus_connect(&bus);
        ck_assert_int_lt(sd_bus_call_method(stranger,
                                            fake.producer_address,
                                            TRACING_PRODUCER_OBJECT,
                                            TRACING_PRODUCER_INTERFACE,
                                            "StopDataSource",
                                            &error,
                                            NULL,
                                            "t",
                                            UINT64_C(1)),
                         0);
        ck_assert_str_eq(error.name, SD_BUS_ERROR_ACCESS_DENIED);
        ck_assert(dt_source_enabled(source));

        /* The service goes, and nobody starts it; the next one is found. */
        fake_disconnect(&fake);
        wait_until_gone(1);
        ck_assert(!dt_source_enabled(source));
        fake_own_name(&fake, bus.address);
        fake_await(&fake);
        fake_setup_memory(&fake, FAKE_PAGES_BYTES, 4096);
        ck_assert_int_eq(fake_setup_buffer(&fake, 1, "test.source", 1), 0);
        ck_assert(!exists(&bus, "started"));

        /* The bus goes, and comes back with a service. */
        bus_stop(&bus);
        wait_until_gone(2);
        fake_disconnect(&fake);
        bus_start(&bus);
        fake_own_name(&fake, bus.address);
        fake_await(&fake);
        fake_disconnect(&fake);
        dt_source_unregister(source);
        ck_assert(!exists(&bus, "started"));

        /* The bus would have started it; it ends what takes too long, which may be before that has begun. */
        for (unsigned i = 0; i < 20 && !exists(&bus, "started"); i++)
                start_service(&bus);
        ck_assert(exists(&bus, "started"));
        bus_deinit(&bus);
}
END_TEST

TEST_MAIN("bus", test_the_service_is_found_on_its_bus_and_never_started)
