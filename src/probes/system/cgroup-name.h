/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Cgroup names: which part of a cgroup's name a reader sees, and which names a config asks for
 *
 * The maker of a cgroup chooses its name, which may have any bytes but '/' and NUL, up to 255 of them.
 */

#include <stdbool.h>
#include <stddef.h>

#define CGROUP_NAME_MAX    255
#define CGROUP_TITLE_BYTES (4 * CGROUP_NAME_MAX + 1) /* each byte may become "\xNN" */

#define CGROUP_PATTERNS_MAX      64  /* of one config */
#define CGROUP_PATTERN_BYTES_MAX 256 /* of one pattern */

/* The name without systemd's escapes ("app-a\x2db.scope" is "app-a-b.scope"). Control characters, and whatever is
 * not UTF-8 then, become such escapes. */
void cgroup_title(char ret[static CGROUP_TITLE_BYTES], const char *name);

/* Which cgroups are wanted. The patterns belong to the caller. */
typedef struct CgroupSelect {
        char **patterns;
        size_t n_patterns; /* 0: all slices, services and scopes */
} CgroupSelect;

/* `path` starts at the top of all cgroups and does not begin with '/'. `title` is that of its last part. A pattern
 * with a '/' is compared with the path, any other with the last part or its title. '*' also matches '/'. */
bool cgroup_is_selected(const CgroupSelect *select, const char *path, const char *title);
