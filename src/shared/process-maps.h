/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Process maps: a line of /proc/PID/maps
 */

#include <stdbool.h>
#include <stdint.h>

#define PROCESS_MAPS_BYTES_MAX \
        (4u << 20) /* read for one process: enough for some ten thousand mappings */

typedef struct ProcessMapping {
        uint64_t start, end;
        uint64_t offset; /* in the file */
        uint32_t major, minor;
        uint64_t inode; /* 0: no file */
        bool is_executable;
        const char *path; /* the path in the line; "": none */
} ProcessMapping;

/* "START-END PERMISSIONS OFFSET MAJOR:MINOR INODE   PATH", without a newline at its end. */
bool process_mapping_parse(ProcessMapping *ret, const char *line);
