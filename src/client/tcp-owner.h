/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * TCP owner: whose the other end of a connection on this machine is
 *
 * The kernel finds one connection in the same time however many there are, so a user who floods the machine with
 * connections does not make the question expensive. Where it has no such answer (tcp_diag), its list of all of them is
 * read.
 */

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct TcpOwner {
        int fd; /* of netlink; -1: the list is read */
} TcpOwner;

/* Of connections to this socket, which listens on an IPv4 address of this machine. */
void tcp_owner_init(TcpOwner *owner, const struct sockaddr_in *listener);
void tcp_owner_deinit(TcpOwner *owner);

/* Finds the uid that has the socket at `peer`, which is connected to `own`. False if there is no such socket, or nobody
 * has it open any longer. */
bool tcp_owner_find(const TcpOwner *owner,
                    uid_t *ret,
                    const struct sockaddr_in *peer,
                    const struct sockaddr_in *own);
