/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Process maps: a line of /proc/PID/maps */

#include <string.h>

#include "shared/process-maps.h"
#include "shared/text.h"

#define PERMISSIONS_BYTES 4 /* "r-xp" */

/* Takes a number in that base after any blanks, and the character that must follow it. */
static bool take(uint64_t *ret, const char **at, unsigned base, char follows) {
        const char *begin = *at + strspn(*at, " "), *end;

        *ret = text_read_uint(begin, base, &end);
        if (end == begin || *end != follows)
                return false;
        *at = end + 1;
        return true;
}

bool process_mapping_parse(ProcessMapping *ret, const char *line) {
        const char *at = line;
        uint64_t major, minor;

        if (!take(&ret->start, &at, 16, '-') || !take(&ret->end, &at, 16, ' ') ||
            strnlen(at, PERMISSIONS_BYTES + 1) <= PERMISSIONS_BYTES)
                return false;
        ret->is_executable = at[2] == 'x';
        at += PERMISSIONS_BYTES;
        if (!take(&ret->offset, &at, 16, ' ') || !take(&major, &at, 16, ':') ||
            !take(&minor, &at, 16, ' ') || !take(&ret->inode, &at, 10, ' '))
                return false;
        ret->major = (uint32_t)major;
        ret->minor = (uint32_t)minor;
        ret->path = at + strspn(at, " ");
        return true;
}
