/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Descriptors out of systemd's store, by session. */

#include "kept-found.h"
#include "kept-store.h"
#include "shared/fd.h"

static Found *found_get(List *all, uint64_t id) {
        Found *found;

        list_for_each (found, all, link)
                if (found->id == id)
                        return found;
        found = calloc(1, sizeof(*found));
        if (!found)
                return NULL;
        found->id = id;
        found->state_fd = found->output_fd = found->outbox_fd = -1;
        for (size_t i = 0; i < SESSION_BUFFERS_MAX; i++)
                found->buffers[i] = (FormerBuffer){ .index_fd = -1, .segments_fd = -1 };
        list_init(&found->link);
        list_append(all, &found->link);
        return found;
}

Found *found_free(Found *found) {
        fd_close(found->state_fd);
        fd_close(found->output_fd);
        fd_close(found->outbox_fd);
        for (size_t i = 0; i < SESSION_BUFFERS_MAX; i++) {
                fd_close(found->buffers[i].index_fd);
                fd_close(found->buffers[i].segments_fd);
        }
        list_unlink(&found->link);
        free(found);
        return NULL;
}

static int *found_place(Found *found, char what, unsigned i) {
        switch (what) {
        case KEPT_STORE_SESSION:
                return &found->state_fd;
        case KEPT_STORE_OUTPUT:
                return &found->output_fd;
        case KEPT_STORE_OUTBOX:
                return &found->outbox_fd;
        case KEPT_STORE_INDEX:
                return &found->buffers[i].index_fd;
        case KEPT_STORE_SEGMENTS:
                return &found->buffers[i].segments_fd;
        default:
                return NULL;
        }
}

bool found_add(List *all, uint64_t id, char what, unsigned i, int fd) {
        Found *found;
        int *place;

        if (i >= SESSION_BUFFERS_MAX)
                return false;
        found = found_get(all, id);
        place = found ? found_place(found, what, i) : NULL;
        if (!place || *place >= 0)
                return false;
        *place = fd;
        return true;
}
