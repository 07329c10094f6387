/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Probe place: a kprobe or uprobe of a config, in the kernel's syntax for definitions
 *
 * The kernel parses a definition as a line of words, so no text from a config may contain a blank, a line end or a
 * comment.
 */

#include <stdbool.h>
#include <stddef.h>

#include "probes/ftrace/ftrace-settings.h"
#include "probes/ftrace/probe-operand.h"
#include "probes/ftrace/static-probes.h"

#define PLACE_NAME_BYTES     48 /* of an event: the kernel allows 63, and we need some of these */
#define PLACE_ARG_BYTES_MAX  256
#define PLACE_LINE_BYTES_MAX 4095 /* the kernel's own limit of a definition */

#define PLACE_FD_PATH "/proc/self/fd/" /* of files: the kernel follows the link at once */

typedef Perfetto__Protos__FtraceConfig__KprobeEvent KprobeConfig;
typedef Perfetto__Protos__FtraceConfig__UprobeEvent UprobeConfig;

typedef struct ProbePlace {
        const char *what;            /* the config's field */
        const char *asked;           /* its name in the config: function, symbol or path */
        const char *label;           /* its name in the trace */
        char name[PLACE_NAME_BYTES]; /* the same, as the kernel takes names of events */
        char *where;                 /* "vfs_read", "/proc/self/fd/7:0x1234" */
        char *const *args;
        size_t n_args;
        bool entry, exit;
        bool is_kprobe;
        bool has_fd;
        int own_fd;      /* of the file in `where`, until the probe is defined */
        char *own_label; /* of static probes: what the two above point to */
        char *own_args[PROBE_OPERANDS_MAX];
} ProbePlace;

/* The place borrows from the config. Returns 0, -ENOMEM, or PROBE_E_REFUSED with *ret_error. */
int probe_place_init_kprobe(ProbePlace *ret, const KprobeConfig *config, char **ret_error);
int probe_place_init_uprobe(ProbePlace *ret, const UprobeConfig *config, char **ret_error);
/* This also borrows from the static probe that the config means, and from `fd`, its file. */
int probe_place_init_static(ProbePlace *ret,
                            const UprobeConfig *config,
                            int fd,
                            const StaticProbe *probe,
                            uint16_t machine,
                            char **ret_error);
void probe_place_deinit(ProbePlace *place);

/* The static probes of the config's program. The descriptor has to stay open for as long as they exist. Returns the
 * same. */
int probe_place_read_static(StaticProbes *ret,
                            int *ret_fd,
                            const UprobeConfig *config,
                            char **ret_error);
/* Whether the config means this static probe. */
bool probe_place_is_meant(const UprobeConfig *config, const StaticProbe *probe);

/* The line that defines "group/name" at this place, malloc'ed. Returns NULL if memory has run out, or if the line is
 * longer than the kernel allows. */
char *probe_place_line(const ProbePlace *place, bool at_exit, const char *full_name);
