/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Kept state: a session without its buffers, in a memfd for the next process
 *
 * The file has two halves. A record is written as a whole into the half that is not valid, with its length and a
 * checksum; then one store makes this half the valid one. So there is always one whole record, and the file never
 * grows. Beside the halves is the time until which the service was running.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEPT_OWNER_MAX 255
#define KEPT_KEY_MAX   128

typedef struct KeptSession {
        uint64_t id;
        uint64_t uuid[2];
        uint64_t started_at;
        uint64_t cloned_from; /* 0: no clone */
        uint64_t snapshot_before_ns;
        uint32_t uid, pid; /* of the owner */
        uint32_t scope;
        uint32_t is_public, is_partial, allows_missing;
        uint32_t detached, has_output;
        uint32_t is_snapshot; /* a trigger has asked for the session, and nobody has fetched it */
        char owner[KEPT_OWNER_MAX + 1]; /* its connection's name, if it is not detached */
        char key[KEPT_KEY_MAX + 1]; /* its key on Perfetto's consumer port; empty: not from there */
        uint32_t n_buffers;
        uint32_t n_config; /* bytes */
        uint32_t n_past;   /* bytes after these: the core's own state of it */
} KeptSession;

#define KEPT_STATE_PAST_BYTES_MAX (4u << 20)

typedef struct KeptStateHead KeptStateHead;

typedef struct KeptState {
        int fd;
        KeptStateHead *head; /* NULL: none */
} KeptState;

enum {
        _KEPT_STATE_E_SUCCESS,
        KEPT_STATE_E_LAYOUT, /* another build has written it */
        KEPT_STATE_E_BROKEN, /* no state, or a torn one */
};

/* Makes a file without a record. Returns 0 or a negative errno. */
int kept_state_new(KeptState *state);
/* Opens the file of another process; takes the descriptor over on success only. Returns 0, KEPT_STATE_E_… or
 * -ENOMEM. */
int kept_state_find(KeptState *state, int fd);
void kept_state_deinit(KeptState *state);

/* Returns 0 or -E2BIG. */
int kept_state_write(KeptState *state,
                     const KeptSession *session,
                     const void *config,
                     const void *past);
/* Reads the record, and copies its config and the core's state after it; the caller frees the copy. Returns 0,
 * KEPT_STATE_E_BROKEN or -ENOMEM. */
int kept_state_read(const KeptState *state, KeptSession *ret, uint8_t **ret_bytes);

/* Counts that one more process tries to go on with the session. Returns how many have tried since the last
 * success. */
uint32_t kept_state_try(KeptState *state);
void kept_state_succeed(KeptState *state);

void kept_state_set_alive(KeptState *state, uint64_t now);
uint64_t kept_state_alive(const KeptState *state);
