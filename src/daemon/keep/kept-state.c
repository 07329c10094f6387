/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Kept state: a session's state in one of two halves of a file */

#include <errno.h>

#include "buffer/mapping.h"
#include "config/config.h"
#include "keep/kept-state.h"
#include "shared/fd.h"
#include "shared/hash.h"

#define KEPT_STATE_MAGIC  UINT64_C(0x6574617473205444) /* "DT state" */
#define KEPT_STATE_LAYOUT 5
#define RECORD_BYTES_MAX  (sizeof(KeptSession) + CONFIG_BYTES_MAX + KEPT_STATE_PAST_BYTES_MAX)
#define HALF_BYTES        ALIGN_UP(sizeof(RecordHead) + RECORD_BYTES_MAX, (size_t)MAPPING_ALIGNMENT)

typedef struct RecordHead {
        uint64_t check; /* checksum of what follows */
        uint64_t n_bytes;
} RecordHead;

struct KeptStateHead {
        uint64_t magic; /* stored last */
        uint32_t layout;
        uint32_t n_session; /* sizeof(KeptSession) */
        uint32_t half;      /* 0: none yet; otherwise the half that is valid, from 1 */
        uint32_t n_tries;
        uint64_t alive_at;
};

static size_t file_bytes(void) {
        return MAPPING_ALIGNMENT + 2 * HALF_BYTES;
}

static RecordHead *kept_state_half(const KeptState *state, uint32_t half) {
        return (RecordHead *)((uint8_t *)state->head + MAPPING_ALIGNMENT + (half - 1) * HALF_BYTES);
}

static int kept_state_map(KeptState *state, int fd) {
        void *memory;
        int r;

        r = mapping_new(&memory, file_bytes(), fd, 0);
        if (r == 0)
                *state = (KeptState){ .fd = fd, .head = memory };
        return r;
}

int kept_state_new(KeptState *state) {
        _cleanup_(fd_closep) int fd = -1;
        int r;

        *state = (KeptState){ .fd = -1 };
        r = fd_new_sealed_memfd(&fd, "desktrace-state", file_bytes());
        if (r == 0)
                r = kept_state_map(state, fd);
        if (r < 0)
                return r;
        TAKE_FD(fd);
        state->head->layout = KEPT_STATE_LAYOUT;
        state->head->n_session = sizeof(KeptSession);
        __atomic_store_n(&state->head->magic, KEPT_STATE_MAGIC, __ATOMIC_RELEASE);
        return 0;
}

int kept_state_find(KeptState *state, int fd) {
        int r;

        *state = (KeptState){ .fd = -1 };
        if (fd_check_sealed_memfd(fd, MAPPING_ALIGNMENT) < 0)
                return KEPT_STATE_E_BROKEN;
        if (fd_check_sealed_memfd(fd, file_bytes()) < 0)
                return KEPT_STATE_E_LAYOUT;
        r = kept_state_map(state, fd);
        if (r < 0)
                return r;
        if (state->head->magic != KEPT_STATE_MAGIC)
                r = KEPT_STATE_E_BROKEN;
        else if (state->head->layout != KEPT_STATE_LAYOUT ||
                 state->head->n_session != sizeof(KeptSession))
                r = KEPT_STATE_E_LAYOUT;
        if (r != 0) {
                state->fd = -1;
                kept_state_deinit(state);
        }
        return r;
}

void kept_state_deinit(KeptState *state) {
        if (!state->head)
                return;
        mapping_free(state->head, file_bytes());
        if (state->fd >= 0)
                fd_close(state->fd);
        *state = (KeptState){ .fd = -1 };
}

static uint8_t *put_piece(uint8_t *at, const void *data, size_t n_bytes) {
        if (n_bytes > 0)
                memcpy(at, data, n_bytes);
        return at + n_bytes;
}

int kept_state_write(KeptState *state,
                     const KeptSession *session,
                     const void *config,
                     const void *past) {
        const uint32_t half = state->head->half == 1 ? 2 : 1;
        RecordHead *record = kept_state_half(state, half);
        uint8_t *start = (uint8_t *)(record + 1), *at;

        if (session->n_config > CONFIG_BYTES_MAX || session->n_past > KEPT_STATE_PAST_BYTES_MAX)
                return -E2BIG;
        at = put_piece(start, session, sizeof(*session));
        at = put_piece(at, config, session->n_config);
        at = put_piece(at, past, session->n_past);
        record->n_bytes = (uint64_t)(at - start);
        record->check = hash_add_bytes(HASH_BASIS, start, (size_t)record->n_bytes);
        __atomic_store_n(&state->head->half, half, __ATOMIC_RELEASE);
        return 0;
}

/* The checksum detects torn records; the record's lengths are checked as well. */
int kept_state_read(const KeptState *state, KeptSession *ret, uint8_t **ret_bytes) {
        const uint32_t half = state->head->half;
        const RecordHead *record;
        const uint8_t *at;
        uint64_t n_bytes;

        if (half < 1 || half > 2)
                return KEPT_STATE_E_BROKEN;
        record = kept_state_half(state, half);
        n_bytes = record->n_bytes;
        at = (const uint8_t *)(record + 1);
        if (n_bytes < sizeof(*ret) || n_bytes > RECORD_BYTES_MAX ||
            hash_add_bytes(HASH_BASIS, at, (size_t)n_bytes) != record->check)
                return KEPT_STATE_E_BROKEN;
        memcpy(ret, at, sizeof(*ret));
        ret->owner[KEPT_OWNER_MAX] = 0;
        ret->key[KEPT_KEY_MAX] = 0;
        n_bytes -= sizeof(*ret);
        if (ret->n_config > CONFIG_BYTES_MAX || (uint64_t)ret->n_config + ret->n_past != n_bytes)
                return KEPT_STATE_E_BROKEN;
        *ret_bytes = malloc((size_t)n_bytes + 1);
        if (!*ret_bytes)
                return -ENOMEM;
        memcpy(*ret_bytes, at + sizeof(*ret), (size_t)n_bytes);
        return 0;
}

uint32_t kept_state_try(KeptState *state) {
        return ++state->head->n_tries;
}

void kept_state_succeed(KeptState *state) {
        state->head->n_tries = 0;
}

void kept_state_set_alive(KeptState *state, uint64_t now) {
        state->head->alive_at = now;
}

uint64_t kept_state_alive(const KeptState *state) {
        return state->head->alive_at;
}
