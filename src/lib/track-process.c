/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What identifies the program in a trace: its uuid, its command line, its name */

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>

#include "lib/track.h"
#include "shared/fd.h"
#include "shared/process-uuid.h"

/* A longer command line is left out, because it has to fit into a packet. */
#define CMDLINE_BYTES_MAX 4096

uint64_t track_process_uuid, track_program_seed;
char *track_cmdline;
size_t track_n_cmdline;

int track_introduce_process(void) {
        if (track_process_uuid != 0)
                return 0;
        if (getrandom(&track_program_seed, sizeof(track_program_seed), 0) < 0)
                return -errno;
        track_process_uuid = process_uuid_get() ?: track_program_seed;
        if (!track_cmdline)
                fd_read_file(&track_cmdline,
                             &track_n_cmdline,
                             AT_FDCWD,
                             "/proc/self/cmdline",
                             CMDLINE_BYTES_MAX);
        return 0;
}
