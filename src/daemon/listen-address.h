/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Listen addresses: the addresses in Perfetto's environment variables, where its service listens
 *
 * A path, or "@" and a name in the abstract namespace. Perfetto also has TCP and vsock addresses; these are refused, as
 * peers that connect to them could not be identified.
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

/* Makes a listening socket, replacing one that was left over at this path. *ret_path is to be removed at the end; it
 * is NULL for an abstract name. `mode` is that of the socket's file. Returns 0, LISTEN_E_…, or a negative errno. */
int listen_address_open(int *ret_fd,
                        char **ret_path,
                        const char *address,
                        size_t n_address,
                        mode_t mode);

/* What is wrong, for people. */
const char *listen_address_error(int r);

/* The next of a list of addresses, separated by commas and none of them empty. false: the list has ended. *at begins
 * as the list. */
bool listen_address_next(const char **at, const char **ret, size_t *ret_n);
