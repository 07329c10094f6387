/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The eventfds are never read, only watched for edges: the peer holds them, too, and could make a read block.
 */

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "bus/link/doorbells.h"
#include "shared/fd.h"
#include "shared/macro.h"

static int doorbell_watch(Doorbell *doorbell, int operation, uint32_t events) {
        struct epoll_event event = { .events = events | EPOLLET, .data.ptr = doorbell };

        return epoll_ctl(doorbell->doorbells->fd, operation, doorbell->fd, &event) < 0 ? -errno : 0;
}

static void doorbell_mute(Doorbell *doorbell) {
        doorbell_watch(doorbell, EPOLL_CTL_MOD, 0);
        list_append(&doorbell->doorbells->muted, &doorbell->muted_link);
}

static void doorbell_ring(Doorbell *doorbell, uint64_t now_ns) {
        if (now_ns - doorbell->interval_began_ns >= DOORBELL_INTERVAL_NS) {
                doorbell->interval_began_ns = now_ns;
                doorbell->n_rings = 0;
        }
        if (++doorbell->n_rings > DOORBELL_BURST)
                doorbell_mute(doorbell);
        else
                doorbell->rang(doorbell);
}

static int on_ready(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        struct epoll_event ready[DOORBELLS_PER_TURN];
        Doorbells *doorbells = userdata;
        uint64_t now_usec = 0;
        int n;

        sd_event_now(doorbells->event, CLOCK_BOOTTIME, &now_usec);
        n = epoll_wait(fd, ready, ARRAY_SIZE(ready), 0);
        doorbells->n_turn = n > 0 ? (size_t)n : 0;
        for (size_t i = 0; i < doorbells->n_turn; i++)
                doorbells->turn[i] = ready[i].data.ptr;
        for (size_t i = 0; i < doorbells->n_turn; i++)
                if (doorbells->turn[i]) /* not closed meanwhile */
                        doorbell_ring(doorbells->turn[i], now_usec * 1000);
        doorbells->n_turn = 0;
        return 0;
}

int doorbells_init(Doorbells *doorbells, sd_event *event) {
        *doorbells = (Doorbells){ .event = event };
        list_init(&doorbells->muted);
        doorbells->fd = epoll_create1(EPOLL_CLOEXEC);
        if (doorbells->fd < 0)
                return -errno;
        return sd_event_add_io(
                event, &doorbells->source, doorbells->fd, EPOLLIN, on_ready, doorbells);
}

void doorbells_deinit(Doorbells *doorbells) {
        if (!doorbells->event)
                return;
        assert(list_is_empty(&doorbells->muted));
        doorbells->source = sd_event_source_disable_unref(doorbells->source);
        doorbells->fd = fd_close(doorbells->fd);
        doorbells->event = NULL;
}

uint64_t doorbells_deadline(const Doorbells *doorbells) {
        if (list_is_empty(&doorbells->muted))
                return UINT64_MAX;
        return list_entry(doorbells->muted.next, Doorbell, muted_link)->interval_began_ns +
               DOORBELL_INTERVAL_NS;
}

/* After listening again the edge of any ring in the meantime is reported at once. */
void doorbells_tick(Doorbells *doorbells, uint64_t now_ns) {
        while (doorbells_deadline(doorbells) <= now_ns) {
                Doorbell *doorbell = list_entry(doorbells->muted.next, Doorbell, muted_link);

                list_unlink(&doorbell->muted_link);
                doorbell_watch(doorbell, EPOLL_CTL_MOD, EPOLLIN);
        }
}

int doorbell_open(Doorbell *doorbell, Doorbells *doorbells, void (*rang)(Doorbell *doorbell)) {
        *doorbell = (Doorbell){ .doorbells = doorbells, .rang = rang };
        list_init(&doorbell->muted_link);
        doorbell->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (doorbell->fd < 0)
                return -errno;
        return doorbell_watch(doorbell, EPOLL_CTL_ADD, EPOLLIN);
}

void doorbell_close(Doorbell *doorbell) {
        Doorbells *doorbells = doorbell->doorbells;

        if (doorbell->fd < 0)
                return;
        for (size_t i = 0; i < doorbells->n_turn; i++)
                if (doorbells->turn[i] == doorbell)
                        doorbells->turn[i] = NULL;
        list_unlink(&doorbell->muted_link);
        /* Removed explicitly: the peer keeps the eventfd open, so closing our descriptor would leave it in the
         * epoll. */
        doorbell_watch(doorbell, EPOLL_CTL_DEL, 0);
        doorbell->fd = fd_close(doorbell->fd);
}
