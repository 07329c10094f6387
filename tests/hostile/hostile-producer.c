/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A producer that attacks the service with what the service gives it
 *
 * Usage: hostile-producer ATTACK SOURCE
 *   Registers SOURCE on the user's bus, or on the socket in $DESKTRACE_SOCKET, says "ready", and serves calls until it
 *   is killed. ATTACK is a row of the table below. It says "attacked" when it has done its worst.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "shared/macro.h"
#include "shared/names.h"
#include "smb/smb.h"

typedef struct Setup {
        int memory, doorbell, bell;
        uint32_t page_bytes;
} Setup;

typedef struct Attack {
        const char *name;
        void (*run)(const Setup *setup);
} Attack;

/* Makes whatever is written to `fd` wait: fills it, and takes O_NONBLOCK away. */
static void make_block(int fd) {
        const uint64_t almost_all = UINT64_MAX - 1;
        int flags = fcntl(fd, F_GETFL);

        fcntl(fd, F_SETFL, flags | O_NONBLOCK);
        while (write(fd, &almost_all, sizeof(almost_all)) > 0)
                ;
        fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

static void attack_bell(const Setup *setup) {
        make_block(setup->bell);
}

static void attack_doorbell(const Setup *setup) {
        make_block(setup->doorbell);
}

static SmbControl *map_control(const Setup *setup) {
        struct stat st;
        void *memory;

        if (fstat(setup->memory, &st) < 0)
                return NULL;
        memory = mmap(
                NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, setup->memory, 0);
        return memory == MAP_FAILED ? NULL : memory;
}

/* Says that it lost as much as a counter holds. */
static void attack_losses(const Setup *setup) {
        SmbControl *control = map_control(setup);

        if (control)
                atomic_store(&control->n_dropped, UINT64_MAX / 4);
}

static const Attack attacks[] = {
        { "bell", attack_bell },
        { "doorbell", attack_doorbell },
        { "losses", attack_losses },
};

static const Attack *attack;

static int read_setup(sd_bus_message *call, Setup *ret) {
        const char *key;
        int r;

        *ret = (Setup){ .bell = -1 };
        r = sd_bus_message_read(call, "hh", &ret->memory, &ret->doorbell);
        if (r >= 0)
                r = sd_bus_message_enter_container(call, 'a', "{sv}");
        while (r > 0) {
                r = sd_bus_message_enter_container(call, 'e', "sv");
                if (r <= 0)
                        break;
                r = sd_bus_message_read(call, "s", &key);
                if (r >= 0 && streq(key, "bell"))
                        r = sd_bus_message_read(call, "v", "h", &ret->bell);
                else if (r >= 0 && streq(key, "page-size"))
                        r = sd_bus_message_read(call, "v", "u", &ret->page_bytes);
                else if (r >= 0)
                        r = sd_bus_message_skip(call, "v");
                if (r >= 0)
                        r = sd_bus_message_exit_container(call);
        }
        return r;
}

static int method_setup_tracing(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        Setup setup;

        if (read_setup(call, &setup) >= 0) {
                attack->run(&setup);
                printf("attacked\n");
                fflush(stdout);
        }
        sd_bus_message_ref(call); /* and its descriptors stay open */
        return sd_bus_reply_method_return(call, "");
}

static int method_answer(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        return sd_bus_reply_method_return(call, "");
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("SetupTracing",
                      "hha{sv}",
                      "",
                      method_setup_tracing,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("SetupDataSource",
                      "tsaya{sv}",
                      "",
                      method_answer,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("StartDataSource", "t", "", method_answer, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("StopDataSource", "t", "", method_answer, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("Flush", "att", "", method_answer, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("ClearIncrementalState", "at", "", method_answer, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

static int open_service(sd_bus **ret) {
        const char *path = getenv(TRACING_ENV_SOCKET);
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        char address[256];
        int r;

        if (!path)
                return sd_bus_open_user(ret);
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

static int register_producer(sd_bus *bus, const char *source) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = sd_bus_add_object_vtable(
                bus, NULL, TRACING_PRODUCER_OBJECT, TRACING_PRODUCER_INTERFACE, vtable, NULL);
        if (r < 0)
                return r;
        r = sd_bus_call_method(bus,
                               TRACING_BUS_NAME,
                               TRACING_PATH,
                               TRACING_MANAGER_INTERFACE,
                               "RegisterProducer",
                               &error,
                               NULL,
                               "sa(sa{sv})a{sv}",
                               "hostile",
                               1,
                               source,
                               0,
                               0);
        if (r < 0)
                fprintf(stderr, "%s: %s\n", error.name, error.message);
        return r;
}

static int serve(sd_bus *bus) {
        int r;

        do {
                r = sd_bus_process(bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(bus, UINT64_MAX);
        } while (r >= 0 || r == -EINTR);
        return r;
}

int main(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        int r;

        for (size_t i = 0; argc == 3 && i < ARRAY_SIZE(attacks); i++)
                if (streq(argv[1], attacks[i].name))
                        attack = &attacks[i];
        if (!attack) {
                fprintf(stderr, "usage: hostile-producer ATTACK SOURCE\n");
                return 2;
        }
        r = open_service(&bus);
        if (r >= 0)
                r = register_producer(bus, argv[2]);
        if (r >= 0) {
                printf("ready\n");
                fflush(stdout);
                r = serve(bus);
        }
        fprintf(stderr, "hostile-producer: %s\n", strerror(-r));
        return 1;
}
