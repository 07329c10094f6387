/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Process uuid: the number of this process's track in traces */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/fd.h"
#include "shared/hash.h"
#include "shared/process-uuid.h"
#include "shared/text.h"

#define STAT_BYTES_MAX      4096
#define FIELDS_BEFORE_START 20 /* behind the name: state is the first */

/* proc(5): the name is in parentheses, and may have any bytes in it. */
static uint64_t start_time(const char *stat) {
        const char *at = strrchr(stat, ')');
        unsigned n_blanks = 0;

        for (; at && *at && n_blanks < FIELDS_BEFORE_START; at++)
                n_blanks += *at == ' ';
        return at ? text_read_uint(at, 10, NULL) : 0;
}

uint64_t process_uuid_make(const char *stat, pid_t pid) {
        uint64_t start = start_time(stat);
        int32_t number = pid;

        if (start == 0)
                return 0;
        return hash_add_bytes(
                hash_add_bytes(HASH_BASIS, &start, sizeof(start)), &number, sizeof(number));
}

uint64_t process_uuid_get(void) {
        _cleanup_(freep) char *stat = NULL;

        if (fd_read_file(&stat, NULL, AT_FDCWD, "/proc/self/stat", STAT_BYTES_MAX) < 0)
                return 0;
        return process_uuid_make(stat, getpid());
}
