/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Descriptor store: descriptors that a service leaves to its next process
 *
 * The service uses systemd's protocol (sd_notify(3): FDSTORE=1, FDSTOREREMOVE=1, FDNAME=, READY=1). The listening
 * sockets are in the store from the beginning, and the service does not remove those. As with systemd, descriptors
 * for which there is no room are closed.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "client/process.h"

/* Small enough that all of them, and those that a child moves out of their way, are fewer than the 1024
 * descriptors that a process may usually have. */
#define DESCRIPTOR_STORE_MAX 384

typedef struct DescriptorStore {
        ProcessSocket all[DESCRIPTOR_STORE_MAX]; /* the names are on the heap */
        size_t n, n_sockets;
} DescriptorStore;

/* Takes the descriptor over; closes it if there is no room, or if the name cannot be passed on. */
void descriptor_store_add(DescriptorStore *store, const char *name, int fd);
/* Everything that is in the store by now counts as a socket, and stays. */
void descriptor_store_seal(DescriptorStore *store);
/* Closes all. */
void descriptor_store_clear(DescriptorStore *store);

/* Reads a message from the socket, which has SO_PASSCRED. Messages of other processes than this one are dropped.
 * Returns false if there is no message. */
bool descriptor_store_hear(DescriptorStore *store, int fd, pid_t from, bool *is_ready);
