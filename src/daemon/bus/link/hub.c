/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The handler of the event source only touches ready links. All dispatching is done by hub_settle(), where links may be
 * touched again but are never freed.
 */

#include <errno.h>
#include <sys/epoll.h>
#include <time.h>

#include "bus/link/hub.h"
#include "shared/fd.h"
#include "shared/macro.h"

static int on_ready(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        struct epoll_event ready[HUB_LINKS_PER_TURN];
        int n;

        n = epoll_wait(fd, ready, ARRAY_SIZE(ready), 0);
        for (int i = 0; i < n; i++) {
                HubLink *link = ready[i].data.ptr;

                link->is_ready = true;
                hub_touch(link);
        }
        return 0;
}

int hub_init(Hub *hub, sd_event *event) {
        *hub = (Hub){ .event = event, .due_usec = UINT64_MAX };
        list_init(&hub->links);
        list_init(&hub->touched);
        hub->fd = epoll_create1(EPOLL_CLOEXEC);
        if (hub->fd < 0)
                return -errno;
        return sd_event_add_io(event, &hub->source, hub->fd, EPOLLIN, on_ready, hub);
}

void hub_deinit(Hub *hub) {
        if (!hub->event)
                return;
        hub->source = sd_event_source_disable_unref(hub->source);
        hub->fd = fd_close(hub->fd);
        hub->event = NULL;
}

/* If a link has a pump, the other end touches it when something has arrived, so its socket need not be polled: a
 * socket that nobody waits for is cheaper to write to. */
static int hub_watch(HubLink *link, int operation, uint32_t events) {
        struct epoll_event event = { .events = events, .data.ptr = link };
        int fd = sd_bus_get_fd(link->connection);

        if (fd < 0)
                return fd;
        link->events = events;
        return epoll_ctl(link->hub->fd, operation, fd, &event) < 0 ? -errno : 0;
}

int hub_add(Hub *hub, HubLink *link, sd_bus *connection) {
        int r;

        link->hub = hub;
        link->connection = connection;
        list_init(&link->touched_link);
        list_append(&hub->links, &link->link);
        r = hub_watch(link, EPOLL_CTL_ADD, link->pump ? 0 : EPOLLIN);
        if (r < 0) {
                hub_remove(link);
                return r;
        }
        /* The connection may have something to send at once. */
        link->is_ready = true;
        hub_touch(link);
        return 0;
}

void hub_remove(HubLink *link) {
        if (!link->hub)
                return;
        hub_watch(link, EPOLL_CTL_DEL, 0);
        list_unlink(&link->touched_link);
        list_unlink(&link->link);
        link->hub = NULL;
}

void hub_touch(HubLink *link) {
        if (link->hub && !list_is_linked(&link->touched_link))
                list_append(&link->hub->touched, &link->touched_link);
}

/* Whether the connection has more to send than its socket had room for. */
static bool link_has_more(HubLink *link) {
        uint64_t n;

        return link->pump && sd_bus_get_n_queued_write(link->connection, &n) >= 0 && n > 0;
}

/* Whether the socket has room now. */
static bool link_pump(HubLink *link) {
        if (link->pump)
                link->pump(link);
        return link_has_more(link);
}

static uint64_t monotonic_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* 0, or a negative errno if the connection is broken. A link that has more to do stays ready. */
static int link_dispatch(HubLink *link, uint64_t until_ns) {
        for (unsigned i = 0; i < HUB_MESSAGES_PER_TURN && (i == 0 || monotonic_ns() < until_ns);
             i++) {
                int r = sd_bus_process(link->connection, NULL);

                if (r < 0)
                        return r;
                /* The connection has neither read nor written. */
                if (r == 0 && !link_has_more(link)) {
                        link->is_ready = false;
                        return 0;
                }
                link_pump(link);
        }
        return 0;
}

/* What the connection waits for from now on. sd-bus and epoll have the same bits. */
static int link_update(HubLink *link) {
        int events = sd_bus_get_events(link->connection);
        uint64_t usec;
        int r;

        if (events < 0)
                return events;
        if (link->pump)
                events &= ~EPOLLIN;
        if ((uint32_t)events != link->events) {
                r = hub_watch(link, EPOLL_CTL_MOD, (uint32_t)events);
                if (r < 0)
                        return r;
        }
        r = sd_bus_get_timeout(link->connection, &usec);
        if (r < 0)
                return r;
        if (usec == 0)
                link->is_ready = true;
        else
                link->hub->due_usec = MIN(link->hub->due_usec, usec);
        return 0;
}

static void link_settle(HubLink *link, uint64_t until_ns) {
        int r = 0;

        if (!link->is_ready)
                link->is_ready = link_pump(link);
        if (link->is_ready)
                r = link_dispatch(link, until_ns);
        if (r == 0)
                r = link_update(link);
        if (r < 0)
                link->broke(link);
        else if (link->is_ready)
                hub_touch(link);
}

void hub_settle(Hub *hub) {
        HubLink *last = list_is_empty(&hub->touched)
                                ? NULL
                                : list_entry(hub->touched.previous, HubLink, touched_link);
        const uint64_t until_ns = monotonic_ns() + HUB_TURN_NS;

        /* Links that are touched meanwhile are queued behind this one and wait for the next time, and so do those
         * for which no time is left. */
        while (last) {
                HubLink *link = list_first(&hub->touched, HubLink, touched_link);

                list_unlink(&link->touched_link);
                link_settle(link, until_ns);
                if (link == last || monotonic_ns() >= until_ns)
                        break;
        }
}

uint64_t hub_deadline(const Hub *hub, uint64_t now) {
        uint64_t usec;

        if (!list_is_empty(&hub->touched))
                return 0;
        if (hub->due_usec == UINT64_MAX || sd_event_now(hub->event, CLOCK_MONOTONIC, &usec) < 0)
                return UINT64_MAX;
        return hub->due_usec > usec ? now + (hub->due_usec - usec) * 1000 : 0;
}

/* All links are checked: calls are too late so rarely that it is not worth remembering which one it was. */
void hub_tick(Hub *hub) {
        HubLink *link;
        uint64_t usec;

        if (hub->due_usec == UINT64_MAX || sd_event_now(hub->event, CLOCK_MONOTONIC, &usec) < 0 ||
            hub->due_usec > usec)
                return;
        hub->due_usec = UINT64_MAX;
        list_for_each (link, &hub->links, link) {
                link->is_ready = true;
                hub_touch(link);
        }
}
