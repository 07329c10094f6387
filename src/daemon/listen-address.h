/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Listen addresses: where Perfetto's environment variables say that its service listens
 *
 * A path, or "@" and a name in the abstract namespace. Perfetto has TCP and vsock addresses, too; nobody could say
 * who comes from there, so they are refused.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
        _LISTEN_E_SUCCESS,
        LISTEN_E_FAMILY, /* no unix socket */
        LISTEN_E_LENGTH, /* longer than an address can be, or empty */
        LISTEN_E_IN_USE, /* somebody listens there */
};

/* Makes a listening socket, in place of one that is left over at this path. *ret_path is what to remove at the end,
 * NULL of an abstract name. `mode` is the socket's, as far as it has one. 0, LISTEN_E_…, or a negative errno. */
int listen_address_open(int *ret_fd,
                        char **ret_path,
                        const char *address,
                        size_t n_address,
                        mode_t mode);

/* What is wrong, for people. */
const char *listen_address_error(int r);

/* The next of a list with commas, none of which is empty: false at the end. *at begins with the list. */
bool listen_address_next(const char **at, const char **ret, size_t *ret_n);
