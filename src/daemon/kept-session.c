/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A session's state and files on their way into systemd's store. */

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "bus/link/bus.h"
#include "bus/object/bus-session.h"
#include "core/session-restore.h"
#include "kept-session.h"
#include "kept-store.h"
#include "shared/bytes.h"
#include "shared/hash.h"
#include "socket/ports.h"

static_assert(KEPT_OWNER_MAX == BUS_OWNER_NAME_MAX, "all of it is kept");
static_assert(KEPT_KEY_MAX == CONSUMER_KEY_MAX, "all of it is kept");
static_assert(SESSION_PAST_BYTES_MAX <= KEPT_STATE_PAST_BYTES_MAX, "all of it is kept");

Kept *kept_free(Kept *kept) {
        if (!kept)
                return NULL;
        list_unlink(&kept->link);
        kept_state_deinit(&kept->state);
        free(kept);
        return NULL;
}
static int kept_write(Kept *kept, const Leaving *leaving) {
        const Session *session = leaving->owned->session;
        const SessionOptions *options = session_options(session);
        const Config *config = session_config(session);
        _cleanup_(bytes_deinit) Bytes past = {};
        KeptSession state = {
                .id = kept->id,
                .uuid = { session_uuid(session)[0], session_uuid(session)[1] },
                .started_at = session_started_at(session),
                .cloned_from = session_cloned_from(session),
                .snapshot_before_ns = options->snapshot_before_ns,
                .uid = options->owner.uid,
                .pid = (uint32_t)options->owner.pid,
                .scope = options->scope,
                .is_public = leaving->is_public,
                .is_partial = leaving->is_partial,
                .allows_missing = options->allows_missing,
                .detached = options->detached,
                .has_output = options->has_output,
                .is_snapshot = leaving->owned->is_snapshot,
                .n_buffers = (uint32_t)session_n_buffers(session),
                .n_config = (uint32_t)config->n_bytes,
        };
        int r;

        snprintf(state.owner, sizeof(state.owner), "%s", leaving->owner);
        snprintf(state.key, sizeof(state.key), "%s", leaving->key);
        r = session_put_past(session, &past);
        if (r < 0)
                return r;
        state.n_past = (uint32_t)past.n;
        return kept_state_write(&kept->state, &state, config->bytes, past.data);
}

static uint64_t revision_of(const Leaving *leaving) {
        const Session *session = leaving->owned->session;
        uint64_t revision = hash_add_text(session_past_revision(session), leaving->owner);

        return hash_add_text(revision, leaving->key) + session_options(session)->detached;
}

int kept_update(Kept *kept, const Leaving *leaving) {
        const uint64_t revision = revision_of(leaving);

        if (revision == kept->revision)
                return 0;
        kept->revision = revision;
        return kept_write(kept, leaving);
}

static int kept_store_buffers(const Kept *kept, const Session *session) {
        int r = 1;

        for (size_t i = 0; r > 0 && i < kept->n_buffers; i++) {
                int index_fd, segments_fd;

                if (!session_buffer_files(session, i, &index_fd, &segments_fd))
                        return -EINVAL;
                r = kept_store_put(index_fd, kept->id, KEPT_STORE_INDEX, i);
                if (r > 0)
                        r = kept_store_put(segments_fd, kept->id, KEPT_STORE_SEGMENTS, i);
        }
        return r;
}

/* The state is stored last, so a session that has one is complete. */
int kept_store(const Kept *kept, const Session *session, const KeptOutput *output) {
        int r;

        r = kept_store_buffers(kept, session);
        if (r > 0 && output->fd >= 0)
                r = kept_store_put(output->fd, kept->id, KEPT_STORE_OUTPUT, 0);
        if (r > 0 && output->fd >= 0)
                r = kept_store_put(output->outbox_fd, kept->id, KEPT_STORE_OUTBOX, 0);
        return r > 0 ? kept_store_put(kept->state.fd, kept->id, KEPT_STORE_SESSION, 0) : r;
}

void kept_forget(uint64_t id, size_t n_buffers) {
        kept_store_drop(id, KEPT_STORE_SESSION, 0);
        kept_store_drop(id, KEPT_STORE_OUTPUT, 0);
        kept_store_drop(id, KEPT_STORE_OUTBOX, 0);
        for (size_t i = 0; i < n_buffers; i++) {
                kept_store_drop(id, KEPT_STORE_INDEX, i);
                kept_store_drop(id, KEPT_STORE_SEGMENTS, i);
        }
}

static Kept *kept_allocate(uint64_t id) {
        Kept *kept = calloc(1, sizeof(*kept));

        if (!kept)
                return NULL;
        list_init(&kept->link);
        kept->state.fd = -1;
        kept->id = id;
        return kept;
}

void kept_describe(Kept *kept, uid_t user, size_t n_buffers, const KeptOutput *output) {
        kept->user = user;
        kept->n_buffers = n_buffers;
        kept->has_output = output->fd >= 0;
        kept->is_pipe = output->is_pipe;
        kept->n_descriptors = 1 + 2 * kept->n_buffers + 2 * kept->has_output;
}

int kept_find(Kept **ret, uint64_t id, int state_fd) {
        _cleanup_(kept_freep) Kept *kept = kept_allocate(id);
        int r;

        if (!kept)
                return -ENOMEM;
        r = kept_state_find(&kept->state, state_fd);
        if (r == 0)
                *ret = TAKE(kept);
        return r;
}

int kept_new(Kept **ret, const Leaving *leaving, const KeptOutput *output, uid_t user) {
        const Session *session = leaving->owned->session;
        _cleanup_(kept_freep) Kept *kept = kept_allocate(session_id(session));
        int r;

        if (!kept)
                return -ENOMEM;
        kept_describe(kept, user, session_n_buffers(session), output);
        r = kept_state_new(&kept->state);
        if (r == 0)
                r = kept_update(kept, leaving);
        if (r == 0)
                *ret = TAKE(kept);
        return r;
}
