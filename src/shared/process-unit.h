/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Process unit: which service, app and container a process belongs to, as its cgroup says
 *
 * systemd gives each unit a cgroup of its name, so the path in /proc/PID/cgroup is the answer that
 * sd_pid_get_unit(3) and its kin give, too; this reads it once for all of them, and from copies of /proc. Names of
 * apps are those of systemd.io/DESKTOP_ENVIRONMENTS; of containers, what their managers call the cgroups. A user can
 * give their own units any name, so an app id is only a claim.
 */

#include <stdbool.h>
#include <stddef.h>

#define PROCESS_UNIT_NAME_BYTES 256 /* the longest name of a unit, and a NUL */
#define PROCESS_LABEL_BYTES     (PROCESS_UNIT_NAME_BYTES + 32)
#define PROCESS_LABELS_MAX      2

/* A part of the parsed text; not NUL-terminated. */
typedef struct PathPart {
        const char *text;
        size_t n; /* 0: no such part */
} PathPart;

typedef struct ProcessUnit {
        PathPart cgroup;                         /* the whole path */
        PathPart unit, slice;                    /* a unit of the system's manager */
        PathPart user_unit, user_slice;          /* of the user's */
        char app_id[PROCESS_UNIT_NAME_BYTES];    /* "" : none */
        const char *app_kind;                    /* "flatpak", "snap"; "" : neither, or not known */
        char container[PROCESS_UNIT_NAME_BYTES]; /* the app's id or name; "" : none */
        const char *container_kind; /* the container's manager; "" without a container */
} ProcessUnit;

/* Parses the text of PID/cgroup, which must outlive the result. Returns false if no path in it is of use. */
bool process_unit_parse(ProcessUnit *ret, const char *text);

/* The same for one path of that text. */
void process_unit_parse_path(ProcessUnit *ret, const char *path, size_t n);

/* The labels to show beside the name of a process: its container; its app, or else its unit. Returns how many there
 * are. */
size_t process_unit_labels(const ProcessUnit *unit, char ret[][PROCESS_LABEL_BYTES]);
