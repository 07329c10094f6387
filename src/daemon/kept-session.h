/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Kept session: what is in systemd's store of one session
 */

#include "keep/kept-state.h"
#include "owner/owned-session.h"
#include "shared/list.h"

/* A session of either transport, as it is told to the next process. */
typedef struct Leaving {
        OwnedSession *owned;
        bool is_public, is_partial;
        const char *owner; /* its connection's name on the message bus */
        const char *key;   /* of one of Perfetto's consumer port; empty: it is of the bus */
} Leaving;

/* An output as it is put into the store; fd -1: there is none. */
typedef struct KeptOutput {
        int fd, outbox_fd;
        bool is_pipe;
} KeptOutput;

typedef struct Kept {
        List link;
        uint64_t id;
        size_t n_buffers;
        KeptState state;
        uint64_t revision; /* of the state that was written last */
        uid_t user;
        size_t n_descriptors;
        bool has_output, is_pipe;
        bool has_spare; /* the output gives a descriptor once more than is needed */
        bool is_seen;
} Kept;

/* Of this login user. Nothing is in the store yet. Returns 0 or a negative errno. */
int kept_new(Kept **ret, const Leaving *leaving, const KeptOutput *output, uid_t user);
/* One that another process has put there; takes the descriptor of its state over on success only. As
 * kept_state_find(), and kept_describe() is to follow. */
int kept_find(Kept **ret, uint64_t id, int state_fd);
void kept_describe(Kept *kept, uid_t user, size_t n_buffers, const KeptOutput *output);
/* What is in the store stays there. */
Kept *kept_free(Kept *kept);
DEFINE_CLEANUP(Kept *, kept_free)

/* Writes what has changed; without room for it the state before stays. Returns 0 or a negative errno. */
int kept_update(Kept *kept, const Leaving *leaving);
/* Puts all of it into the store. 1, 0 when nobody keeps it, or a negative errno. */
int kept_store(const Kept *kept, const Session *session, const KeptOutput *output);
/* Takes it out of the store, with its first n_buffers buffers. */
void kept_forget(uint64_t id, size_t n_buffers);
