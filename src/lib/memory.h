/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Memory: the shared memory of one connection, mapped
 *
 * Reference counted: the connection has a reference, and each writer, so that the mapping outlives the
 * connection for as long as some thread may be in the middle of a packet. Any thread.
 */

#include "shared/macro.h"
#include "smb/smb-writer.h"

#define MEMORY_KEY_BYTES 16

typedef struct Memory {
        _Atomic unsigned n_ref;
        void *address;
        size_t n_bytes;
        int doorbell_fd;
        int bell_fd;              /* rung for the service's requests; -1: it sends none */
        _Atomic bool is_starving; /* a writer found no chunk while others hold partly filled ones */
        bool release_asked;       /* release it when no instance is left; private thread only */
        bool has_key;             /* by which the next service recognises this memory: */
        uint8_t key[MEMORY_KEY_BYTES];
        SmbProducer producer;
} Memory;

/* Maps what the service passed. The descriptors stay the caller's; `bell_fd` may be -1. -EBADMSG when one of them is
 * not what it should be, or an errno. */
int memory_new(Memory **ret, int memory_fd, int doorbell_fd, int bell_fd);
/* Another service now has the other ends of the same memory. Descriptors and errors are those of memory_new(). */
int memory_set_bells(Memory *memory, int doorbell_fd, int bell_fd);
/* Whether the descriptors are still ours. */
bool memory_has_its_fds(const Memory *memory);
Memory *memory_ref(Memory *memory);
Memory *memory_unref(Memory *memory);
DEFINE_CLEANUP(Memory *, memory_unref)
