/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Static list: lists the static probes of a program, for use in a config */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/ftrace/probe-operand.h"
#include "probes/ftrace/static-list.h"
#include "probes/ftrace/static-probes.h"
#include "shared/fd.h"
#include "shared/utf8.h"

typedef struct Lines {
        char **lines;
        size_t n_lines;
} Lines;

static void lines_deinit(Lines *lines) {
        for (size_t i = 0; i < lines->n_lines; i++)
                free(lines->lines[i]);
        free(lines->lines);
}

static char *describe(const StaticProbe *probe, uint16_t machine) {
        ProbeOperand operands[PROBE_OPERANDS_MAX];
        size_t n = probe_operands_parse(operands, machine, probe->arguments);
        _cleanup_(freep) char *text = NULL;
        size_t n_text;
        FILE *stream = open_memstream(&text, &n_text);

        if (!stream)
                return NULL;
        fprintf(stream, "%s:%s", probe->provider, probe->name);
        for (size_t i = 0; i < n; i++)
                fprintf(stream, " arg%zu:%s", i + 1, operands[i].fetch[0] ? operands[i].type : "?");
        return fclose(stream) == 0 ? utf8_copy_line(text, STATIC_NAME_BYTES) : NULL;
}

static int compare(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static int describe_all(Lines *lines, const StaticProbes *list) {
        lines->lines = calloc(list->n_probes + 1, sizeof(*lines->lines));
        if (!lines->lines)
                return -ENOMEM;
        for (; lines->n_lines < list->n_probes; lines->n_lines++) {
                lines->lines[lines->n_lines] =
                        describe(&list->probes[lines->n_lines], list->machine);
                if (!lines->lines[lines->n_lines])
                        return -ENOMEM;
        }
        qsort(lines->lines, lines->n_lines, sizeof(*lines->lines), compare);
        return 0;
}

int static_list_print(const char *path, char **ret_error) {
        _cleanup_(static_probes_deinit) StaticProbes list = {};
        _cleanup_(lines_deinit) Lines lines = {};
        _cleanup_(fd_closep) int fd = -1;
        int r;

        r = elf_file_open_program(&fd, path, ret_error);
        if (r == 0)
                r = static_probes_init(&list, fd, path, ret_error);
        if (r == 0)
                r = describe_all(&lines, &list);
        for (size_t i = 0; r == 0 && i < lines.n_lines; i++)
                if (i == 0 || !streq(lines.lines[i], lines.lines[i - 1]))
                        puts(lines.lines[i]);
        if (r == 0 && lines.n_lines == 0)
                fprintf(stderr, "%s has no static probes (those of sys/sdt.h)\n", path);
        return r;
}
