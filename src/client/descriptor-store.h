/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Descriptor store: what a service leaves to the process that comes after it
 *
 * It says so as it would to systemd (sd_notify(3): FDSTORE=1, FDSTOREREMOVE=1, FDNAME=, READY=1). The listening sockets
 * are in the store from the beginning, and it does not remove those. As with systemd, what there is no room for is
 * closed.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "client/process.h"

/* So that all of them, and those that a child moves out of their way, are fewer than the 1024 descriptors that a
 * process may usually have. */
#define DESCRIPTOR_STORE_MAX 384

typedef struct DescriptorStore {
        ProcessSocket all[DESCRIPTOR_STORE_MAX]; /* the names are on the heap */
        size_t n, n_sockets;
} DescriptorStore;

/* Takes the descriptor over; closes it if there is no room, or nobody could be told such a name. */
void descriptor_store_add(DescriptorStore *store, const char *name, int fd);
/* What is in there until now are the sockets. */
void descriptor_store_seal(DescriptorStore *store);
/* Closes all. */
void descriptor_store_clear(DescriptorStore *store);

/* Reads a message from the socket that has SO_PASSCRED; what others than this process say is dropped. false: there is
 * none. */
bool descriptor_store_hear(DescriptorStore *store, int fd, pid_t from, bool *is_ready);
