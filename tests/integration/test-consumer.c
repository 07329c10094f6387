/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A consumer for the tests: what busctl cannot do, which is to pass descriptors and to stay
 *
 * Usage: test-consumer BUS start SOURCE [output|duration|deferred]...
 *                                           says the session's path, and stays until it is killed
 *        test-consumer BUS attach PATH      attaches, says the path, and stays likewise
 *        test-consumer BUS clone PATH [output]     says the clone's path, and stays likewise
 *        test-consumer BUS read-into PATH          says how many bytes were written
 *        test-consumer BUS watch -          makes a call and then shows the signals that come, until it is killed
 * BUS is "user", "system", or the path of a socket. "output" and read-into pass descriptor 3.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "shared/macro.h"
#include "shared/names.h"

#define OUTPUT_FD 3

static int open_private(sd_bus **ret, const char *path) {
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        char address[256];
        int r;

        snprintf(address, sizeof(address), "unix:path=%s", path);
        r = sd_bus_new(&bus);
        if (r >= 0)
                r = sd_bus_set_address(bus, address);
        if (r >= 0)
                r = sd_bus_start(bus);
        if (r >= 0)
                *ret = TAKE(bus);
        return r;
}

static int open_bus(sd_bus **ret, const char *which) {
        if (streq(which, "user"))
                return sd_bus_open_user(ret);
        if (streq(which, "system"))
                return sd_bus_open_system(ret);
        return open_private(ret, which);
}

static int call(sd_bus *bus, sd_bus_message *message, const char *types, void *ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        static sd_bus_message *reply; /* keeps *ret alive */
        int r;

        r = sd_bus_call(bus, message, 0, &error, &reply);
        if (r < 0) {
                fprintf(stderr, "%s: %s\n", error.name, error.message);
                return r;
        }
        return sd_bus_message_read(reply, types, ret);
}

/* Written out ten times a second, so that trouble with an output shows soon. */
static int append_config(sd_bus_message *message, const char *source, bool has_output, bool waits) {
        char config[512];

        snprintf(config,
                 sizeof(config),
                 "buffers { size_kb: 16384 } data_sources { config { name: \"%s\" } } %s%s",
                 source,
                 has_output ? "write_into_file: true file_write_period_ms: 100 " : "",
                 waits ? "deferred_start: true" : "");
        return sd_bus_message_append(message, "{sv}", "config-text", "s", config);
}

static int append_options(sd_bus_message *message, const char *source, char *const options[]) {
        bool has_output = false, waits = false;
        int r = 0;

        for (; r >= 0 && *options; options++) {
                if (streq(*options, "output")) {
                        has_output = true;
                        r = sd_bus_message_append(message, "{sv}", "output", "h", OUTPUT_FD);
                } else if (streq(*options, "duration")) {
                        r = sd_bus_message_append(message, "{sv}", "duration-ms", "u", 60000);
                } else if (streq(*options, "deferred")) {
                        waits = true;
                } else {
                        return -EINVAL;
                }
        }
        return r < 0 ? r : append_config(message, source, has_output, waits);
}

/* The session lives as long as we do. */
static void stay(const char *path) {
        printf("%s\n", path);
        fflush(stdout);
        for (;;)
                pause();
}

static int clone_session(sd_bus *bus, const char *destination, const char *path, bool has_output) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        const char *clone;
        int r;

        r = sd_bus_message_new_method_call(
                bus, &message, destination, path, TRACING_SESSION_INTERFACE, "Clone");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', "{sv}");
        if (r >= 0 && has_output)
                r = sd_bus_message_append(message, "{sv}", "output", "h", OUTPUT_FD);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        if (r >= 0)
                r = call(bus, message, "o", &clone);
        if (r >= 0)
                stay(clone);
        return r;
}

static int start(sd_bus *bus, const char *destination, const char *source, char *const options[]) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        const char *path;
        int r;

        r = sd_bus_message_new_method_call(bus,
                                           &message,
                                           destination,
                                           TRACING_PATH,
                                           TRACING_MANAGER_INTERFACE,
                                           "StartSession");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', "{sv}");
        if (r >= 0)
                r = append_options(message, source, options);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        if (r >= 0)
                r = call(bus, message, "o", &path);
        if (r >= 0)
                stay(path);
        return r;
}

static int attach(sd_bus *bus, const char *destination, const char *path) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = sd_bus_call_method(
                bus, destination, path, TRACING_SESSION_INTERFACE, "Attach", &error, NULL, "");
        if (r >= 0)
                stay(path);
        fprintf(stderr, "%s: %s\n", error.name, error.message);
        return r;
}

static int read_into(sd_bus *bus, const char *destination, const char *path) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        uint64_t n_bytes;
        int r;

        r = sd_bus_message_new_method_call(
                bus, &message, destination, path, TRACING_SESSION_INTERFACE, "ReadInto");
        if (r >= 0)
                r = sd_bus_message_append(message, "h", OUTPUT_FD);
        if (r >= 0)
                r = call(bus, message, "t", &n_bytes);
        if (r >= 0)
                printf("%" PRIu64 "\n", n_bytes);
        return r;
}

static int on_signal(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        sd_bus_message_dump(message, stdout, SD_BUS_MESSAGE_DUMP_WITH_HEADER);
        fflush(stdout);
        return 0;
}

/* The call is what makes it a listener on a bus of several users. */
static int watch(sd_bus *bus, const char *destination) {
        int r;

        r = sd_bus_match_signal(bus, NULL, destination, NULL, NULL, NULL, on_signal, NULL);
        if (r >= 0)
                r = sd_bus_call_method(bus,
                                       destination,
                                       TRACING_PATH,
                                       TRACING_MANAGER_INTERFACE,
                                       "ListSources",
                                       NULL,
                                       NULL,
                                       "");
        if (r >= 0)
                puts("watching");
        fflush(stdout);
        while (r >= 0) {
                r = sd_bus_process(bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(bus, UINT64_MAX);
        }
        return r;
}

int main(int argc, char *argv[]) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        const char *destination;
        int r;

        if (argc < 4)
                return 2;
        destination = argv[1][0] == '/' ? NULL : TRACING_BUS_NAME;
        r = open_bus(&bus, argv[1]);
        if (r < 0)
                fprintf(stderr, "cannot connect: %s\n", strerror(-r));
        else if (streq(argv[2], "start"))
                r = start(bus, destination, argv[3], argv + 4);
        else if (streq(argv[2], "attach"))
                r = attach(bus, destination, argv[3]);
        else if (streq(argv[2], "clone"))
                r = clone_session(bus, destination, argv[3], argc > 4 && streq(argv[4], "output"));
        else if (streq(argv[2], "watch"))
                r = watch(bus, destination);
        else
                r = read_into(bus, destination, argv[3]);
        return r < 0;
}
