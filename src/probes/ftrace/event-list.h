/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Event list: the names of the kernel's events, "group/name"
 *
 * For people to choose from, whether or not they may record. Only events of the kernel's own source are listed: those
 * that programs and administrators have defined (kprobes, uprobes, user events, synthetic events) are left out, because
 * their names reveal what they watch.
 */

#define EVENT_LIST_BYTES_MAX \
        (192u << 10) /* of the names with their pointers; the rest is left out */
#define EVENT_NAME_MAX 128

/* *ret is NULL-terminated, for probe_names_free(); NULL: none. `root` is the machine's "/", or a tree of fixtures. 0 or
 * a negative errno. */
int event_list_read_at(int root, char ***ret);
int event_list_read(char ***ret);

/* The kernel's file "format" of the event "group/name", as text. 0 or a negative errno; -EINVAL: the name is none. */
int event_list_read_format(char **ret, const char *event);
