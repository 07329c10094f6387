/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Writers, as the private thread sees them
 *
 * A writer belongs to an application's thread, which writes without any lock or atomic exchange. When a
 * session is flushed or stopped the private thread has to return the chunk that the writer has at hand,
 * maybe long after the thread's last packet. See writer.c for how the two keep apart.
 */

#include "lib/source-private.h"

/* How long a flush or stop waits for a thread that is in the middle of a packet. */
#define WRITER_BUSY_WAIT_NS UINT64_C(10000000)

/* How long DT_FULL_STALL waits for room. */
#define WRITER_STALL_NS UINT64_C(1000000000)

struct dt_writer {
        SmbWriter smb;
        Memory *memory;
        List link;  /* in dt_instance.writers, under the lock */
        bool begun; /* a packet got through */

        _Atomic bool busy;    /* the writer's thread is in smb */
        _Atomic bool claimed; /* the private thread wants smb, or has it */
        _Atomic bool over;    /* never write again */
};

/* dt_writer_write() from inside of the library, in a process that is not a forked child. */
int writer_write(dt_writer *writer, const void *packet, size_t n_bytes);

/* Once, before the first writer. */
void writers_prepare(void);

/* Returns the chunks at hand of all writers of an instance; `end` also ends the writers and takes them off the
 * list. With the lock held. */
void writers_return_chunks(List *writers, bool end);
