/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Probe place: a kprobe or uprobe of a config, in the kernel's syntax for definitions */

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/probe.h"
#include "probes/ftrace/dynamic-events.h"
#include "probes/ftrace/elf-file.h"
#include "probes/ftrace/elf-symbols.h"
#include "probes/ftrace/probe-place.h"
#include "shared/fd.h"
#include "shared/utf8.h"

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

/* Letters, digits and underscores, and the first is no digit. */
static void make_name(char *to, const char *text) {
        size_t n = 0;

        if (isdigit((unsigned char)text[0]))
                to[n++] = '_';
        for (; *text && n + 1 < PLACE_NAME_BYTES; text++)
                to[n++] = isalnum((unsigned char)*text) ? *text : '_';
        to[n] = '\0';
}

/* The position that names the innermost memory that an argument reads: "$retval" in "x=+8(+0($retval)):string". */
static const char *arg_base(const char *arg) {
        const char *inner = strrchr(arg, '('), *equals = strchr(arg, '=');

        return inner ? inner + 1 : equals ? equals + 1 : arg;
}

static bool arg_reads_memory(const char *arg) {
        const char *type = strrchr(arg, ':');

        return strchr(arg, '(') || strstr(arg, "->") ||
               (type && (strncmp(type, ":string", strlen(":string")) == 0 ||
                         strncmp(type, ":ustring", strlen(":ustring")) == 0));
}

static bool has_prefix(const char *text, const char *prefix) {
        return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* When a function returns, registers and the stack no longer hold its arguments, so they may point anywhere. */
static int check_exit_args(const ProbePlace *place, char **ret_error) {
        for (size_t i = 0; place->exit && i < place->n_args; i++) {
                const char *arg = place->args[i], *base = arg_base(arg);

                if (arg_reads_memory(arg) && !has_prefix(base, "$retval") &&
                    !has_prefix(base, "$comm"))
                        return probe_refuse(
                                ret_error,
                                "%s: \"%s\" has the argument \"%.64s\", which reads "
                                "memory when the function has returned and its arguments "
                                "are gone; read it where the function begins, or through "
                                "$retval",
                                place->what,
                                place->asked,
                                arg);
        }
        return 0;
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
        return check_exit_args(place, ret_error);
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

static int check_path(const UprobeConfig *config, char **ret_error) {
        if (config->path && config->path[0] == '/' && is_word(config->path, PATH_MAX))
                return 0;
        return probe_refuse(ret_error,
                            "uprobe_events: \"%.64s\" is no path from the root directory "
                            "without blanks",
                            config->path ?: "");
}

static int refuse_program(const UprobeConfig *config, const char *error, char **ret_error) {
        bool is_missing = access(config->path, F_OK) < 0 && errno == ENOENT;

        if (is_missing)
                return probe_refuse(ret_error,
                                    "uprobe_events: %s; the system's service cannot see what is in "
                                    "/home and /tmp: use --standalone",
                                    error);
        return probe_refuse(ret_error, "uprobe_events: %s", error);
}

static int
has_static_probe_at(bool *ret, int fd, const char *path, uint64_t offset, char **ret_error) {
        _cleanup_(static_probes_deinit) StaticProbes list = {};
        int r = static_probes_init(&list, fd, path, ret_error);

        *ret = false;
        for (size_t i = 0; r == 0 && i < list.n_probes; i++)
                *ret |= list.probes[i].offset == offset;
        return r;
}

/* A breakpoint in the middle of an instruction turns it into another one, and the program then computes something
 * else. The kernel prevents this in its own code, but not in programs. */
static int check_start(int fd, const char *path, uint64_t offset, char **ret_error) {
        bool is_start;
        int r;

        r = elf_has_function_at(&is_start, fd, path, offset, ret_error);
        if (r == 0 && !is_start)
                r = has_static_probe_at(&is_start, fd, path, offset, ret_error);
        if (r != 0 || is_start)
                return r;
        return probe_refuse(ret_error,
                            "neither a function nor a static probe begins at 0x%" PRIx64 " in %s, "
                            "and a probe in the middle of an instruction would change what the "
                            "program does; name a function, or one of \"desktrace list probes %s\"",
                            offset,
                            path,
                            path);
}

static int find_offset(uint64_t *ret, int *ret_fd, const UprobeConfig *config, char **ret_error) {
        _cleanup_(fd_closep) int fd = -1;
        _cleanup_(freep) char *error = NULL;
        int r;

        r = elf_file_open_program(&fd, config->path, &error);
        if (r == 0 && !config->symbol)
                *ret = config->offset;
        else if (r == 0)
                r = elf_find_function(ret, fd, config->path, config->symbol, &error);
        if (r == 0 && !(config->symbol && !strchr(config->symbol, '+')))
                r = check_start(fd, config->path, *ret, &error);
        if (r == 0)
                *ret_fd = TAKE_FD(fd);
        return r == PROBE_E_REFUSED ? refuse_program(config, error, ret_error) : r;
}

/*
 * Static probes
 */

int probe_place_read_static(StaticProbes *ret,
                            int *ret_fd,
                            const UprobeConfig *config,
                            char **ret_error) {
        _cleanup_(fd_closep) int fd = -1;
        _cleanup_(freep) char *error = NULL;
        int r;

        r = check_path(config, ret_error);
        if (r != 0)
                return r;
        if (config->symbol || config->has_offset || config->type > TYPE_(KPROBE))
                return probe_refuse(ret_error,
                                    "uprobe_events: \"%s\" of %s is a static probe, which has "
                                    "neither a symbol, nor an offset, nor a return",
                                    config->usdt,
                                    config->path);
        if (config->name && strpbrk(config->usdt, "*?["))
                return probe_refuse(ret_error,
                                    "uprobe_events: \"%s\" can be several probes, which cannot all "
                                    "be called \"%s\"; leave the name out",
                                    config->usdt,
                                    config->name);
        r = elf_file_open_program(&fd, config->path, &error);
        if (r == 0)
                r = static_probes_init(ret, fd, config->path, &error);
        if (r == PROBE_E_REFUSED)
                return refuse_program(config, error, ret_error);
        if (r == 0)
                *ret_fd = TAKE_FD(fd);
        return r;
}

bool probe_place_is_meant(const UprobeConfig *config, const StaticProbe *probe) {
        char name[STATIC_NAME_BYTES];

        /* glibc looks at each place at most once for each star, so no pattern can make this slow. */
        return snprintf(name, sizeof(name), "%s:%s", probe->provider, probe->name) <
                       (int)sizeof(name) &&
               fnmatch(config->usdt, name, FNM_NOESCAPE) == 0;
}

/* "$arg2" in the config stands for the operand; other words are left to the kernel. malloc'ed. Returns NULL if
 * memory has run out, or sets *ret_unreadable to the number of an operand that does not exist or that the kernel
 * cannot read. */
static char *expand_arg(const char *arg,
                        const ProbeOperand operands[],
                        size_t n_operands,
                        unsigned long *ret_unreadable) {
        static const char variable[] = "$arg";
        char *text = NULL;
        size_t n_text;
        FILE *stream = open_memstream(&text, &n_text);

        *ret_unreadable = 0;
        if (!stream)
                return NULL;
        for (const char *next; *ret_unreadable == 0 && (next = strstr(arg, variable));) {
                char *end;
                unsigned long number = strtoul(next + strlen(variable), &end, 10);

                fwrite(arg, 1, (size_t)(next - arg), stream);
                if (number < 1 || number > n_operands || !operands[number - 1].fetch[0])
                        *ret_unreadable = number ?: ULONG_MAX;
                else
                        fputs(operands[number - 1].fetch, stream);
                arg = end;
        }
        fputs(arg, stream);
        if (fclose(stream) == 0 && *ret_unreadable == 0)
                return text;
        free(text);
        return NULL;
}

static int expand_args(ProbePlace *place,
                       const UprobeConfig *config,
                       const ProbeOperand operands[],
                       size_t n_operands,
                       char **ret_error) {
        if (config->n_args > PROBE_OPERANDS_MAX)
                return probe_refuse(ret_error,
                                    "uprobe_events: \"%s\" has %zu arguments; a static probe may "
                                    "have %d",
                                    place->asked,
                                    config->n_args,
                                    PROBE_OPERANDS_MAX);
        for (size_t i = 0; i < config->n_args; i++) {
                unsigned long unreadable;

                place->own_args[i] = expand_arg(config->args[i], operands, n_operands, &unreadable);
                if (!place->own_args[i] && unreadable == 0)
                        return -ENOMEM;
                if (!place->own_args[i])
                        return probe_refuse(
                                ret_error,
                                "uprobe_events: \"%s\": the probe has %zu arguments, and \"%.64s\" "
                                "does not name one that the kernel can read",
                                place->label,
                                n_operands,
                                config->args[i]);
                place->n_args++;
        }
        return 0;
}

/* All operands that the kernel can read, with the probe's numbers. */
static int name_args(ProbePlace *place, const ProbeOperand operands[], size_t n_operands) {
        for (size_t i = 0; i < n_operands; i++) {
                if (!operands[i].fetch[0])
                        continue;
                if (asprintf(&place->own_args[place->n_args],
                             "arg%zu=%s:%s",
                             i + 1,
                             operands[i].fetch,
                             operands[i].type) < 0) {
                        place->own_args[place->n_args] = NULL;
                        return -ENOMEM;
                }
                place->n_args++;
        }
        return 0;
}

/* Names the file that was checked by its descriptor, because the path may lead to another file by now. */
static int place_at(ProbePlace *place, int fd, const StaticProbe *probe) {
        int n = probe->semaphore_offset
                        ? asprintf(&place->where,
                                   PLACE_FD_PATH "%d:0x%" PRIx64 "(0x%" PRIx64 ")",
                                   fd,
                                   probe->offset,
                                   probe->semaphore_offset)
                        : asprintf(&place->where, PLACE_FD_PATH "%d:0x%" PRIx64, fd, probe->offset);

        if (n < 0)
                place->where = NULL;
        return n < 0 ? -ENOMEM : 0;
}

int probe_place_init_static(ProbePlace *ret,
                            const UprobeConfig *config,
                            int fd,
                            const StaticProbe *probe,
                            uint16_t machine,
                            char **ret_error) {
        _cleanup_(probe_place_deinit) ProbePlace place = {
                .what = "uprobe_events",
                .asked = config->usdt,
        };
        ProbeOperand operands[PROBE_OPERANDS_MAX];
        size_t n_operands = probe_operands_parse(operands, machine, probe->arguments);
        int r;

        if (asprintf(&place.own_label, "%s:%s", probe->provider, probe->name) < 0) {
                place.own_label = NULL;
                return -ENOMEM;
        }
        place.label = place.own_label;
        utf8_clean(place.own_label);
        if (config->n_args > 0)
                r = expand_args(&place, config, operands, n_operands, ret_error);
        else
                r = name_args(&place, operands, n_operands);
        if (r == 0)
                r = place_at(&place, fd, probe);
        place.args = place.own_args;
        if (r == 0)
                r = place_finish(&place, TYPE_(KPROBE), config->name ?: place.own_label, ret_error);
        if (r != 0)
                return r;
        *ret = place;
        ret->args = ret->own_args;
        place = (ProbePlace){};
        return 0;
}

/*
 * Functions of programs
 */

int probe_place_init_uprobe(ProbePlace *ret, const UprobeConfig *config, char **ret_error) {
        ProbePlace place = {
                .what = "uprobe_events",
                .asked = config->symbol ?: config->path ?: "",
                .args = config->args,
                .n_args = config->n_args,
        };
        _cleanup_(fd_closep) int fd = -1;
        uint64_t offset;
        int r;

        r = check_path(config, ret_error);
        if (r != 0)
                return r;
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
                r = find_offset(&offset, &fd, config, ret_error);
        if (r != 0)
                return r;
        if (asprintf(&place.where, PLACE_FD_PATH "%d:0x%" PRIx64, fd, offset) < 0)
                return -ENOMEM;
        place.own_fd = TAKE_FD(fd);
        place.has_fd = true;
        *ret = place;
        return 0;
}

void probe_place_deinit(ProbePlace *place) {
        if (place->has_fd)
                fd_close(place->own_fd);
        free(place->where);
        free(place->own_label);
        for (size_t i = 0; i < ARRAY_SIZE(place->own_args); i++)
                free(place->own_args[i]);
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
