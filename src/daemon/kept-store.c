/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Kept store: descriptors that systemd holds for the next process */

#include <inttypes.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>

#include "kept-store.h"

#define NAME_BYTES 64

static void name_of(char ret[static NAME_BYTES], uint64_t id, char what, size_t i) {
        snprintf(ret, NAME_BYTES, KEPT_STORE_PREFIX "%" PRIu64 "-%c%zu", id, what, i);
}

int kept_store_put(int fd, uint64_t id, char what, size_t i) {
        char name[NAME_BYTES], text[NAME_BYTES + 32];
        const int fds[] = { fd };

        name_of(name, id, what, i);
        /* systemd is not to look at it, and so not to ask a file system of a user's. */
        snprintf(text, sizeof(text), "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", name);
        return sd_pid_notify_with_fds(0, false, text, fds, 1);
}

void kept_store_drop(uint64_t id, char what, size_t i) {
        char name[NAME_BYTES];

        name_of(name, id, what, i);
        sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s", name);
}
