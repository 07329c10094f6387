/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Output relay: copies a recording to outputs that the service does not write to itself
 *
 * The service only writes to files and pipes. For a socket or a device it is given a pipe, and a thread here copies
 * from that. Belongs to the OutputFile; all calls come from one thread.
 */

#include <pthread.h>
#include <stdbool.h>

typedef struct OutputRelay {
        pthread_t thread;
        bool is_running;
        int from, to;
        int error; /* used by the thread until it has ended */
} OutputRelay;

#define OUTPUT_RELAY_INIT \
        { .from = -1, .to = -1 }

/* If the service does not write to *fd, starts to copy to it and makes *fd the pipe. Returns 0 or a negative errno. */
int output_relay_start(OutputRelay *relay, int *fd);

/* Once every other writer has closed the pipe: closes *fd, waits until all is copied. Returns 0 or a negative errno
 * of the copying. Does nothing, and leaves *fd alone, where nothing is copied. */
int output_relay_finish(OutputRelay *relay, int *fd);

/* Drops what has not been copied yet. */
void output_relay_cancel(OutputRelay *relay);
