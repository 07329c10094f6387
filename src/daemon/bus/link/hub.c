/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The handler of the event source only touches ready links. All dispatching is done by hub_settle(), where links may be
 * touched again but are never freed.
 */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

#include "bus/link/hub.h"
#include "shared/fd.h"
#include "shared/macro.h"
#include "shared/monotonic.h"

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
        list_init(&hub->users);
        list_init(&hub->waiting);
        hub->fd = epoll_create1(EPOLL_CLOEXEC);
        if (hub->fd < 0)
                return -errno;
        return sd_event_add_io(event, &hub->source, hub->fd, EPOLLIN, on_ready, hub);
}

void hub_deinit(Hub *hub) {
        if (!hub->event)
                return;
        assert(list_is_empty(&hub->links) && list_is_empty(&hub->users));
        assert(list_is_empty(&hub->waiting));
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

static int hub_join_user(HubLink *link, Hub *hub, uid_t user) {
        HubUser *found;

        list_for_each (found, &hub->users, link)
                if (found->user == user) {
                        found->n_links++;
                        link->user = found;
                        return 0;
                }
        found = calloc(1, sizeof(*found));
        if (!found)
                return -ENOMEM;
        *found = (HubUser){ .user = user, .n_links = 1 };
        list_init(&found->touched);
        list_init(&found->waiting_link);
        list_append(&hub->users, &found->link);
        link->user = found;
        return 0;
}

static void hub_leave_user(HubLink *link) {
        HubUser *user = TAKE(link->user);

        if (--user->n_links > 0)
                return;
        list_unlink(&user->link);
        free(user);
}

int hub_add(Hub *hub, HubLink *link, sd_bus *connection, uid_t user) {
        int r;

        r = hub_join_user(link, hub, user);
        if (r < 0)
                return r;
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

/* The user waits for as long as one of its links does. */
static void hub_untouch(HubLink *link) {
        if (!list_is_linked(&link->touched_link))
                return;
        link->hub->n_touched--;
        list_unlink(&link->touched_link);
        if (list_is_empty(&link->user->touched))
                list_unlink(&link->user->waiting_link);
}

void hub_remove(HubLink *link) {
        if (!link->hub)
                return;
        hub_watch(link, EPOLL_CTL_DEL, 0);
        hub_untouch(link);
        list_unlink(&link->link);
        hub_leave_user(link);
        link->hub = NULL;
}

void hub_touch(HubLink *link) {
        if (!link->hub || list_is_linked(&link->touched_link))
                return;
        link->hub->n_touched++;
        list_append(&link->user->touched, &link->touched_link);
        if (!list_is_linked(&link->user->waiting_link))
                list_append(&link->hub->waiting, &link->user->waiting_link);
}

/* Returns the next link of the next user, who then goes to the end of the line. */
static HubLink *hub_take(Hub *hub) {
        HubUser *user = list_first(&hub->waiting, HubUser, waiting_link);
        HubLink *link = list_first(&user->touched, HubLink, touched_link);

        hub_untouch(link);
        if (list_is_linked(&user->waiting_link)) {
                list_unlink(&user->waiting_link);
                list_append(&hub->waiting, &user->waiting_link);
        }
        return link;
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

/* Returns 0, or a negative errno if the connection is broken. A link that has more to do stays ready. */
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

/* Sets which events the connection waits for. sd-bus and epoll use the same bits. */
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

void hub_begin_round(Hub *hub) {
        hub->spent_ns = 0;
}

/* Links that are touched meanwhile wait for the next time, and so do those that there is no time left for. */
void hub_settle(Hub *hub) {
        const uint64_t began_ns = monotonic_ns();
        const uint64_t until_ns = began_ns + HUB_TURN_NS - MIN(hub->spent_ns, HUB_TURN_NS);
        uint64_t now_ns = began_ns;

        for (size_t n = hub->n_touched; n > 0 && now_ns < until_ns; n--) {
                link_settle(hub_take(hub), until_ns);
                now_ns = monotonic_ns();
        }
        hub->spent_ns += now_ns - began_ns;
}

uint64_t hub_deadline(const Hub *hub, uint64_t now) {
        uint64_t usec;

        if (hub->n_touched > 0)
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
