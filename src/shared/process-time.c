/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Process time: when a process began, which tells it from others that have had its number */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shared/fd.h"
#include "shared/macro.h"
#include "shared/process-time.h"

#define STAT_BYTES_MAX       4096
#define STAT_FIELDS_TO_START 20 /* behind the name: proc(5) counts it as the 22nd field */

/* proc(5): the fields stand behind the name, which is in parentheses and may have any bytes in it. */
static int read_start_time(int directory, const char *path, uint64_t *ret_ticks) {
        _cleanup_(freep) char *stat = NULL;
        const char *at;
        int r;

        r = fd_read_file(&stat, NULL, directory, path, STAT_BYTES_MAX);
        if (r < 0)
                return r;
        at = strrchr(stat, ')');
        for (unsigned i = 0; at && i < STAT_FIELDS_TO_START; i++)
                at = strchr(at + 1, ' ');
        if (!at || sscanf(at, " %" SCNu64, ret_ticks) != 1)
                return -EBADMSG;
        return 0;
}

int process_start_time(pid_t pid, uint64_t *ret_ticks) {
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        return read_start_time(AT_FDCWD, path, ret_ticks);
}

int process_start_time_at(int directory, uint64_t *ret_ticks) {
        return read_start_time(directory, "stat", ret_ticks);
}
