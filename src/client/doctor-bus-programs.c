/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Doctor, bus programs: which programs are on the session bus */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "client/doctor-bus-programs.h"
#include "client/doctor.h"
#include "shared/fd.h"
#include "shared/macro.h"

#define BUS_DEADLINE_S 3
#define COMM_BYTES_MAX 64

/* Names on the bus of programs with the compositor's profiler. */
static const char *const compositor_names[] = { "org.gnome.Shell",
                                                "org.gnome.Mutter.DisplayConfig" };

static void program_clear(gpointer item) {
        BusProgram *program = item;

        g_free(program->name);
}

static GArray *programs_new(void) {
        GArray *programs = g_array_new(FALSE, FALSE, sizeof(BusProgram));

        g_array_set_clear_func(programs, program_clear);
        return programs;
}

static void add_pid(GArray *programs, const char *source, uint32_t pid) {
        _cleanup_(freep) char *name = NULL;
        BusProgram program;
        char path[32];

        if (pid == (uint32_t)getpid())
                return;
        snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid);
        if (fd_read_file(&name, NULL, AT_FDCWD, path, COMM_BYTES_MAX) < 0)
                return;
        program = (BusProgram){ source, g_strndup(name, strcspn(name, "\n")) };
        g_array_append_val(programs, program);
}

static int find_pid(sd_bus *bus, const char *name, uint32_t *ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = sd_bus_call_method(bus,
                               "org.freedesktop.DBus",
                               "/org/freedesktop/DBus",
                               "org.freedesktop.DBus",
                               "GetConnectionUnixProcessID",
                               NULL,
                               &reply,
                               "s",
                               name);
        return r < 0 ? r : sd_bus_message_read(reply, "u", ret);
}

static void read_name(GArray *programs, sd_bus *bus, const char *name) {
        const char *source = *name == ':' ? "org.freedesktop.dbus" : NULL;
        uint32_t pid;

        for (size_t i = 0; i < ARRAY_SIZE(compositor_names); i++)
                if (streq(name, compositor_names[i]))
                        source = "org.gnome.sysprof";
        if (source && find_pid(bus, name, &pid) >= 0)
                add_pid(programs, source, pid);
}

static void *gather(void *argument) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        GArray *programs = programs_new();
        char **names = NULL;

        if (sd_bus_open_user(&bus) < 0 || sd_bus_list_names(bus, &names, NULL) < 0)
                return programs;
        for (size_t i = 0; names[i]; i++) {
                if (i < BUS_PROGRAMS_MAX)
                        read_name(programs, bus, names[i]);
                free(names[i]);
        }
        free(names);
        return programs;
}

GArray *bus_programs_within_time(void) {
        GArray *programs = doctor_within(BUS_DEADLINE_S, gather, NULL);

        return programs ?: programs_new();
}
