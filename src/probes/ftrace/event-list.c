/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Event list: the names of the kernel's events, "group/name" */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/denial.h"
#include "host/probe.h"
#include "probes/ftrace/event-list.h"
#include "shared/fd.h"

#define FILE_BYTES_MAX (4u << 20)

typedef struct EventList {
        char **names;
        size_t n, n_allocated;
        size_t n_bytes, n_bytes_max;
} EventList;

/* Writes the same as "group/name" in a file of the kernel; `name` has room for EVENT_NAME_MAX. */
static bool parse_event(char *name, const char *line, size_t n, char separator) {
        const char *at = memchr(line, separator, n);

        if (!at || at == line || at + 1 == line + n || n >= EVENT_NAME_MAX)
                return false;
        for (size_t i = 0; i < n; i++)
                if (line[i] <= ' ' || line[i] > '~')
                        return false;
        memcpy(name, line, n);
        name[at - line] = '/';
        name[n] = 0;
        return true;
}

static int list_add(EventList *list, const char *name) {
        if (list->n_bytes + strlen(name) + 1 + sizeof(char *) > list->n_bytes_max)
                return 0;
        if (list->n + 1 >= list->n_allocated) {
                const size_t n = MAX(2 * list->n_allocated, (size_t)64);
                char **names = reallocarray(list->names, n, sizeof(*names));

                if (!names)
                        return -ENOMEM;
                list->names = names;
                list->n_allocated = n;
        }
        list->names[list->n] = strdup(name);
        if (!list->names[list->n])
                return -ENOMEM;
        list->names[++list->n] = NULL;
        list->n_bytes += strlen(name) + 1 + sizeof(char *);
        return 0;
}

/* Calls `visit` with each line. */
static int for_each_line(const char *text,
                         int (*visit)(EventList *list, const char *line, size_t n, void *userdata),
                         EventList *list,
                         void *userdata) {
        int r = 0;

        while (r == 0 && *text) {
                const size_t n = strcspn(text, "\n");

                r = visit(list, text, n, userdata);
                text += n + (text[n] == '\n');
        }
        return r;
}

/* "p:group/name place", "s:group/name ...". A definition without a group is a user event. */
static int visit_dynamic(EventList *list, const char *line, size_t n, void *userdata) {
        const char *at = memchr(line, ':', n);
        char name[EVENT_NAME_MAX];

        if (!at)
                return 0;
        at++;
        if (!parse_event(name, at, strcspn(at, " \n"), '/'))
                return 0;
        return list_add(list, name);
}

static int compare_names(const void *a, const void *b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "group:name" */
static int visit_event(EventList *list, const char *line, size_t n, void *userdata) {
        static const char user_events[] = "user_events/";
        const EventList *dynamic = userdata;
        char name[EVENT_NAME_MAX];
        const char *key = name;

        if (!parse_event(name, line, n, ':') ||
            strncmp(name, user_events, strlen(user_events)) == 0)
                return 0;
        if (dynamic->n > 0 &&
            bsearch(&key, dynamic->names, dynamic->n, sizeof(*dynamic->names), compare_names))
                return 0;
        return list_add(list, name);
}

static int read_tracing_file(int root, const char *file, char **ret) {
        static const char *const folders[] = { "sys/kernel/tracing", "sys/kernel/debug/tracing" };
        int r = -ENOENT;

        for (size_t i = 0; r < 0 && i < ARRAY_SIZE(folders); i++) {
                _cleanup_(fd_closep) int fd =
                        openat(root, folders[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                r = fd < 0 ? -errno : fd_read_file(ret, NULL, fd, file, FILE_BYTES_MAX);
        }
        return r;
}

int event_list_read_at(int root, char ***ret) {
        _cleanup_(freep) char *events = NULL, *definitions = NULL;
        EventList dynamic = { .n_bytes_max = SIZE_MAX };
        EventList list = { .n_bytes_max = EVENT_LIST_BYTES_MAX };
        int r;

        r = read_tracing_file(root, "available_events", &events);
        if (r < 0)
                return r;
        /* Kernels before Linux 5.0 have no such file. */
        if (read_tracing_file(root, "dynamic_events", &definitions) >= 0)
                r = for_each_line(definitions, visit_dynamic, &dynamic, NULL);
        if (dynamic.n > 0)
                qsort(dynamic.names, dynamic.n, sizeof(*dynamic.names), compare_names);
        if (r == 0)
                r = for_each_line(events, visit_event, &list, &dynamic);
        probe_names_free(dynamic.names);
        if (r == 0)
                *ret = list.names;
        else
                probe_names_free(list.names);
        return r;
}

/* The name comes from a peer, and the file is read with our rights. So the name must have two components, and they
 * must not lead elsewhere. */
static bool is_event_path(const char *name) {
        const char *slash = strchr(name, '/');

        return slash && slash != name && slash[1] && !strchr(slash + 1, '/') && *name != '.' &&
               slash[1] != '.' && strlen(name) < EVENT_NAME_MAX;
}

int event_list_read_format(char **ret, const char *event) {
        _cleanup_(fd_closep) int root = -1;
        char file[sizeof("events//format") + EVENT_NAME_MAX];

        if (!is_event_path(event))
                return -EINVAL;
        root = denial_open_root();
        if (root < 0)
                return root;
        snprintf(file, sizeof(file), "events/%s/format", event);
        return read_tracing_file(root, file, ret);
}

int event_list_read(char ***ret) {
        _cleanup_(fd_closep) int root = denial_open_root();

        return root < 0 ? root : event_list_read_at(root, ret);
}
