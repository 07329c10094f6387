/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the cgroup and, if need be, the sandbox of a process, and keeps what is valid text. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/link/producer-home.h"
#include "shared/fd.h"
#include "shared/flatpak-info.h"
#include "shared/process-unit.h"
#include "shared/utf8.h"

#define CGROUP_BYTES_MAX 65536

/* NULL for empty text. Anybody may name a cgroup, and D-Bus can only carry valid UTF-8. */
static char *take_text(const char *text, size_t n) {
        char *copy = n > 0 ? strndup(text, n) : NULL;

        if (copy)
                utf8_clean(copy);
        return copy;
}

void producer_home_read(ProducerHome *home, pid_t pid, bool has_own_pids) {
        _cleanup_(fd_closep) int proc_fd = -1;
        _cleanup_(freep) char *text = NULL;
        const PathPart *own;
        ProcessUnit unit;
        char path[32];

        if (home->is_read)
                return;
        home->is_read = true;
        proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        snprintf(path, sizeof(path), "%d/cgroup", (int)pid);
        if (pid <= 0 || proc_fd < 0 ||
            fd_read_file(&text, NULL, proc_fd, path, CGROUP_BYTES_MAX) < 0)
                return;
        process_unit_parse(&unit, text);
        if (has_own_pids && !unit.app_id[0] && !unit.container[0])
                (void)flatpak_info_read(unit.app_id, proc_fd, pid);

        own = unit.user_unit.n > 0 ? &unit.user_unit : &unit.unit;
        home->unit = take_text(own->text, own->n);
        home->app = take_text(unit.app_id, strlen(unit.app_id));
        home->container = take_text(unit.container, strlen(unit.container));
}

void producer_home_deinit(ProducerHome *home) {
        free(home->unit);
        free(home->app);
        free(home->container);
        *home = (ProducerHome){};
}
