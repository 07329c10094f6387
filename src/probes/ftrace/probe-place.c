/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "probes/ftrace/dynamic-events.h"
#include "probes/ftrace/elf-symbols.h"
#include "probes/ftrace/probe-place.h"
#include "probes/probe.h"
#include "shared/fd.h"

#define TYPE_(name) PERFETTO__PROTOS__FTRACE_CONFIG__KPROBE_EVENT__KPROBE_TYPE__KPROBE_TYPE_##name

enum {
        TYPE_RETURN = TYPE_(KRETPROBE),
        TYPE_BOTH = TYPE_(BOTH),
};

/* One word of a definition. */
static bool is_word(const char *text, size_t n_max) {
        size_t n = 0;

        for (; text[n]; n++)
                if (n >= n_max || !isgraph((unsigned char)text[n]) || text[n] == '#')
                        return false;
        return n > 0;
}

/* Letters, digits and underscores, and no digit first. */
static void make_name(char *to, const char *text) {
        size_t n = 0;

        if (isdigit((unsigned char)text[0]))
                to[n++] = '_';
        for (; *text && n + 1 < PLACE_NAME_BYTES; text++)
                to[n++] = isalnum((unsigned char)*text) ? *text : '_';
        to[n] = '\0';
}

static int check_args(const ProbePlace *place, char **ret_error) {
        if (place->n_args > DYNAMIC_ARGS_MAX)
                return probe_refuse(ret_error,
                                    "%s: \"%s\" has %zu arguments; at most %d are allowed",
                                    place->what,
                                    place->asked,
                                    place->n_args,
                                    DYNAMIC_ARGS_MAX);
        for (size_t i = 0; i < place->n_args; i++)
                if (!is_word(place->args[i], PLACE_ARG_BYTES_MAX))
                        return probe_refuse(ret_error,
                                            "%s: \"%s\" has the argument \"%.64s\", which is not "
                                            "one word of at most %d letters; write it as the "
                                            "kernel does: \"size=%%di:u64\"",
                                            place->what,
                                            place->asked,
                                            place->args[i],
                                            PLACE_ARG_BYTES_MAX);
        return 0;
}

static int place_finish(ProbePlace *place, unsigned type, const char *label, char **ret_error) {
        place->entry = type != TYPE_RETURN;
        place->exit = type == TYPE_RETURN || type == TYPE_BOTH;
        place->label = label && *label ? label : place->asked;
        make_name(place->name, place->label);
        return check_args(place, ret_error);
}

int probe_place_init_kprobe(ProbePlace *ret, const KprobeConfig *config, char **ret_error) {
        ProbePlace place = {
                .what = "kprobe_events",
                .asked = config->probe ?: "",
                .args = config->args,
                .n_args = config->n_args,
                .is_kprobe = true,
        };
        int r;

        if (!is_word(place.asked, PLACE_ARG_BYTES_MAX) || strchr(place.asked, '/'))
                return probe_refuse(ret_error,
                                    "kprobe_events: \"%.64s\" is no function of the kernel; write "
                                    "name or name+offset",
                                    place.asked);
        r = place_finish(&place, config->type, config->name, ret_error);
        if (r != 0)
                return r;
        place.where = strdup(place.asked);
        if (!place.where)
                return -ENOMEM;
        *ret = place;
        return 0;
}

/* Opening a device can do things of its own, like starting a watchdog, and reading trace_pipe takes away what is
 * another's, so what it is is asked first: such files say that they are empty, or are in sysfs. Reading needs no
 * waiting, whatever the path is of. */
static int open_regular(int *ret, const char *path) {
        _cleanup_(fd_closep) int fd = -1;
        char again[64];
        struct statfs system;
        struct stat st;

        fd = open(path, O_PATH | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0 || fstatfs(fd, &system) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || st.st_size == 0 || system.f_type == SYSFS_MAGIC)
                return -ENOTSUP;
        snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
        *ret = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        return *ret < 0 ? -errno : 0;
}

static int open_program(int *ret, const char *path, char **ret_error) {
        int r;

        r = open_regular(ret, path);
        if (r == -ENOTSUP)
                return probe_refuse(ret_error, "uprobe_events: %s is no file of a program", path);
        if (r < 0)
                return probe_refuse(ret_error,
                                    "uprobe_events: cannot open %s: %s%s",
                                    path,
                                    strerror(-r),
                                    r == -ENOENT ? "; what is in /home and /tmp, the system's "
                                                   "service cannot see: use --standalone"
                                                 : "");
        return 0;
}

static int find_offset(uint64_t *ret, const UprobeConfig *config, char **ret_error) {
        _cleanup_(fd_closep) int fd = -1;
        _cleanup_(freep) char *error = NULL;
        int r;

        r = open_program(&fd, config->path, ret_error);
        if (r != 0)
                return r;
        if (!config->symbol) {
                *ret = config->offset;
                return 0;
        }
        r = elf_find_function(ret, fd, config->path, config->symbol, &error);
        return r == PROBE_E_REFUSED ? probe_refuse(ret_error, "uprobe_events: %s", error) : r;
}

int probe_place_init_uprobe(ProbePlace *ret, const UprobeConfig *config, char **ret_error) {
        ProbePlace place = {
                .what = "uprobe_events",
                .asked = config->symbol ?: config->path ?: "",
                .args = config->args,
                .n_args = config->n_args,
        };
        uint64_t offset;
        int r;

        if (!config->path || config->path[0] != '/' || !is_word(config->path, PATH_MAX))
                return probe_refuse(ret_error,
                                    "uprobe_events: \"%.64s\" is no path from the root directory "
                                    "without blanks",
                                    config->path ?: "");
        if (!config->symbol == !config->has_offset)
                return probe_refuse(ret_error,
                                    "uprobe_events: %s needs either a symbol or an offset",
                                    config->path);
        r = place_finish(&place,
                         config->type,
                         config->name
                                 ?: config->symbol ? config->name
                                                   : strrchr(config->path, '/') + 1,
                         ret_error);
        if (r == 0)
                r = find_offset(&offset, config, ret_error);
        if (r != 0)
                return r;
        if (asprintf(&place.where, "%s:0x%" PRIx64, config->path, offset) < 0)
                return -ENOMEM;
        *ret = place;
        return 0;
}

void probe_place_deinit(ProbePlace *place) {
        free(place->where);
        *place = (ProbePlace){};
}

char *probe_place_line(const ProbePlace *place, bool at_exit, const char *full_name) {
        char *line = NULL;
        size_t n_line;
        FILE *stream = open_memstream(&line, &n_line);

        if (!stream)
                return NULL;
        fprintf(stream, "%c:%s %s", at_exit ? 'r' : 'p', full_name, place->where);
        for (size_t i = 0; i < place->n_args; i++)
                fprintf(stream, " %s", place->args[i]);
        if (fclose(stream) == 0 && n_line <= PLACE_LINE_BYTES_MAX)
                return line;
        free(line);
        return NULL;
}
