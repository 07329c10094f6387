/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Event list: the names of the kernel's events, "group/name"
 *
 * People choose from this list, whether or not they may record. Only events of the kernel's own source are listed.
 * Those that programs and administrators have defined (kprobes, uprobes, user events, synthetic events) are left out,
 * because their names reveal what is being watched.
 */

#define EVENT_LIST_BYTES_MAX \
        (192u << 10) /* for the names and their pointers; the rest is left out */
#define EVENT_NAME_MAX 128

/* *ret is NULL-terminated, for probe_names_free(); NULL: none. `root` is the machine's "/", or a tree of fixtures.
 * Returns 0 or a negative errno. */
int event_list_read_at(int root, char ***ret);
int event_list_read(char ***ret);

/* The text of the kernel's "format" file of the event "group/name". Returns 0 or a negative errno, with -EINVAL if
 * that cannot be an event's name. */
int event_list_read_format(char **ret, const char *event);
