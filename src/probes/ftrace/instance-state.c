/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Instance state: filters, options, threads and CPUs, as a recording sets them in its tracefs instance */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/probe.h"
#include "probes/ftrace/instance-state.h"

static void write_deinit(InstanceWrite *write) {
        free(write->what);
        free(write->file);
        free(write->value);
}

int instance_state_add(InstanceState *state,
                       const char *what,
                       const char *file,
                       const char *value) {
        InstanceWrite write = { strdup(what), strdup(file), strdup(value) };
        InstanceWrite *writes =
                reallocarray(state->writes, state->n_writes + 1, sizeof(*state->writes));

        if (writes)
                state->writes = writes;
        if (!writes || !write.what || !write.file || !write.value) {
                write_deinit(&write);
                return -ENOMEM;
        }
        writes[state->n_writes++] = write;
        return 0;
}

void instance_state_deinit(InstanceState *state) {
        for (size_t i = 0; i < state->n_writes; i++)
                write_deinit(&state->writes[i]);
        free(state->writes);
        *state = (InstanceState){};
}

InstanceWrite *instance_state_find(InstanceState *state, const char *file) {
        for (size_t i = 0; i < state->n_writes; i++)
                if (streq(state->writes[i].file, file))
                        return &state->writes[i];
        return NULL;
}

/* Their lengths are included, as a value may have several lines. */
char *instance_state_key(const InstanceState *state) {
        char *text = NULL;
        size_t n_text;
        FILE *stream = open_memstream(&text, &n_text);

        if (!stream)
                return NULL;
        for (size_t i = 0; i < state->n_writes; i++)
                fprintf(stream,
                        "%s=%zu:%s\n",
                        state->writes[i].file,
                        strlen(state->writes[i].value),
                        state->writes[i].value);
        if (fclose(stream) == 0)
                return text;
        free(text);
        return NULL;
}

/* After a refusal, the file has the expression, a line that points into it, and the reason. */
char *filter_error(const char *text) {
        static const char mark[] = "parse_error: ";
        const char *reason = strstr(text, mark), *pointer = strchr(text, '\n');
        char *line, at[32] = "";
        size_t n;

        if (!reason || !pointer || pointer > reason)
                return NULL;
        reason += strlen(mark);
        n = strcspn(pointer + 1, "^\n");
        if (pointer[1 + n] == '^')
                snprintf(at, sizeof(at), ", at %zu", n + 1);
        if (asprintf(&line,
                     "%.*s%s: \"%.*s\"",
                     (int)strcspn(reason, "\n"),
                     reason,
                     at,
                     (int)(pointer - text),
                     text) < 0)
                return NULL;
        return line;
}

static bool is_filter(const char *file) {
        size_t n = strlen(file);

        return n > 7 && streq(file + n - 7, "/filter");
}

static char *read_filter_error(Instance *instance, const char *file) {
        _cleanup_(freep) char *text = NULL;

        if (!is_filter(file) || instance_read(instance, file, &text, NULL, NULL) != 0)
                return NULL;
        return filter_error(text);
}

/* Most tracers do not work in instances. Which ones do differs between kernels. */
static int refuse_tracer(const InstanceWrite *write, Instance *instance, char **ret_error) {
        _cleanup_(freep) char *tracers = NULL;

        (void)instance_read(instance, "available_tracers", &tracers, NULL, NULL);
        return probe_refuse(ret_error,
                            "%s: this kernel has no %s tracer for a recording of its own; it has: "
                            "%.*s",
                            write->what,
                            write->value,
                            (int)strcspn(tracers ?: "none", "\n"),
                            tracers ?: "none");
}

static int apply_write(const InstanceWrite *write, Instance *instance, char **ret_error) {
        _cleanup_(freep) char *error = NULL, *said = NULL;
        int r;

        r = instance_write(instance, write->file, write->value, &error);
        if (r != PROBE_E_REFUSED)
                return r;
        if (streq(write->file, "current_tracer"))
                return refuse_tracer(write, instance, ret_error);
        said = read_filter_error(instance, write->file);
        if (said)
                return probe_refuse(ret_error, "%s: the kernel says: %s", write->what, said);
        return probe_refuse(ret_error, "%s: %s", write->what, error);
}

int instance_state_apply(const InstanceState *state, Instance *instance, char **ret_error) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < state->n_writes; i++)
                r = apply_write(&state->writes[i], instance, ret_error);
        return r;
}
