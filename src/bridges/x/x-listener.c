/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* X listener: hears from an X server when windows' frames were shown */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <xcb/present.h>
#include <xcb/res.h>
#include <xcb/xcb.h>

#include "bridges/x/window-set.h"
#include "bridges/x/x-listener.h"
#include "bridges/x/x-replies.h"
#include "shared/macro.h"
#include "shared/thread.h"

#define EVENT_GENERIC   35 /* of an extension */
#define EVENT_TYPE_MASK 0x7f

#define PRESENT_COMPLETE_BYTES \
        40 /* on the wire: libxcb's structure has a number of its own in it */

typedef struct XClient {
        uint32_t base; /* of the client's own ids; 0: the place is free */
        pid_t pid;
} XClient;

struct XListener {
        pthread_mutex_t lock;
        bool has_owner, has_thread; /* the last of the two to let go frees it */
        XState state;
        int fd; /* of the connection, while the thread has one; -1: none */
        XFrame frames[X_FRAMES_MAX];
        size_t first, n;
        uint64_t n_lost, n_left_out;

        /* Only the thread uses these. */
        xcb_connection_t *connection;
        uint8_t present; /* the number of the extension */
        bool has_res;
        uint32_t client_mask;
        XClient clients[X_CLIENTS_MAX];
        WindowSet windows; /* windows that are listened to */
};

static atomic_uint n_listeners;

bool x_listener_is_built(void) {
        return true;
}

static void set_state(XListener *listener, XState state) {
        pthread_mutex_lock(&listener->lock);
        listener->state = state;
        pthread_mutex_unlock(&listener->lock);
}

/* Called with the lock, which it releases. */
static void unlock_or_free(XListener *listener) {
        const bool is_last = !listener->has_owner && !listener->has_thread;

        pthread_mutex_unlock(&listener->lock);
        if (!is_last)
                return;
        pthread_mutex_destroy(&listener->lock);
        free(listener);
        atomic_fetch_sub(&n_listeners, 1);
}

/*
 * Whose windows
 */

static pid_t ask_pid(XListener *listener, uint32_t window) {
        const xcb_res_client_id_spec_t spec = { window, XCB_RES_CLIENT_ID_MASK_LOCAL_CLIENT_PID };
        _cleanup_(freep) xcb_res_query_client_ids_reply_t *reply = NULL;

        if (!listener->has_res)
                return 0;
        reply = xcb_res_query_client_ids_reply(
                listener->connection,
                xcb_res_query_client_ids(listener->connection, 1, &spec),
                NULL);
        return reply ? x_client_pid(reply) : 0;
}

static XClient *client_of(XListener *listener, uint32_t window) {
        const uint32_t base = window & listener->client_mask;
        const uint32_t hash = (base ^ base >> 15) * UINT32_C(2654435761);

        return &listener->clients[(hash >> 16) % X_CLIENTS_MAX];
}

static pid_t pid_of(XListener *listener, uint32_t window) {
        const uint32_t base = window & listener->client_mask;
        XClient *client = client_of(listener, window);

        if (client->base != base || client->pid == 0)
                *client = (XClient){ base, ask_pid(listener, window) };
        return client->pid;
}

/*
 * Windows
 */

/* Errors come as events and are ignored: the window may be gone. */
static bool listen_to(XListener *listener, uint32_t window) {
        const uint32_t mask = XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY;

        if (window_set_has(&listener->windows, window))
                return false;
        if (!window_set_add(&listener->windows, window)) {
                pthread_mutex_lock(&listener->lock);
                listener->n_left_out++;
                pthread_mutex_unlock(&listener->lock);
                return false;
        }
        xcb_change_window_attributes(listener->connection, window, XCB_CW_EVENT_MASK, &mask);
        xcb_present_select_input(listener->connection,
                                 xcb_generate_id(listener->connection),
                                 window,
                                 XCB_PRESENT_EVENT_MASK_COMPLETE_NOTIFY);
        return true;
}

/* Also listens to all windows in it. New windows are reported from now on; some are both reported and in the list. */
static void listen_to_all(XListener *listener, uint32_t window, unsigned depth) {
        _cleanup_(freep) xcb_query_tree_reply_t *reply = NULL;

        if (depth == X_DEPTH_MAX || !listen_to(listener, window))
                return;
        reply = xcb_query_tree_reply(
                listener->connection, xcb_query_tree(listener->connection, window), NULL);
        for (size_t i = 0; reply && i < x_n_children(reply); i++)
                listen_to_all(listener, xcb_query_tree_children(reply)[i], depth + 1);
}

/*
 * Events
 */

static void add_frame(XListener *listener, const xcb_present_complete_notify_event_t *event) {
        const XFrame frame = {
                .window = event->window,
                .pid = pid_of(listener, event->window),
                .at_us = event->ust,
                .number = event->msc,
                .mode = event->mode,
        };

        pthread_mutex_lock(&listener->lock);
        if (listener->n == X_FRAMES_MAX)
                listener->n_lost++;
        else
                listener->frames[(listener->first + listener->n++) % X_FRAMES_MAX] = frame;
        pthread_mutex_unlock(&listener->lock);
}

static void take_generic(XListener *listener, const xcb_generic_event_t *event) {
        const xcb_present_complete_notify_event_t *complete = (const void *)event;

        if (x_event_has(event, PRESENT_COMPLETE_BYTES) &&
            complete->extension == listener->present &&
            complete->event_type == XCB_PRESENT_COMPLETE_NOTIFY &&
            complete->kind == XCB_PRESENT_COMPLETE_KIND_PIXMAP)
                add_frame(listener, complete);
}

static void take_event(XListener *listener, const xcb_generic_event_t *event) {
        const xcb_destroy_notify_event_t *destroyed = (const void *)event;

        switch (event->response_type & EVENT_TYPE_MASK) {
        case EVENT_GENERIC:
                take_generic(listener, event);
                break;
        case XCB_CREATE_NOTIFY:
                listen_to_all(listener, ((const xcb_create_notify_event_t *)event)->window, 0);
                break;
        case XCB_DESTROY_NOTIFY:
                window_set_remove(&listener->windows, destroyed->window);
                client_of(listener, destroyed->window)->base = 0; /* ids are used again */
                break;
        default:
                break;
        }
}

static XState look_at_extensions(XListener *listener) {
        const xcb_query_extension_reply_t *present, *res;

        present = xcb_get_extension_data(listener->connection, &xcb_present_id);
        res = xcb_get_extension_data(listener->connection, &xcb_res_id);
        if (!present || !present->present)
                return X_NO_PRESENT;
        listener->present = present->major_opcode;
        listener->has_res = res && res->present;
        xcb_discard_reply(listener->connection,
                          xcb_present_query_version(listener->connection,
                                                    XCB_PRESENT_MAJOR_VERSION,
                                                    XCB_PRESENT_MINOR_VERSION)
                                  .sequence);
        if (listener->has_res)
                xcb_discard_reply(listener->connection,
                                  xcb_res_query_version(listener->connection, 1, 2).sequence);
        return X_LISTENING;
}

static XState listen_to_screens(XListener *listener) {
        const xcb_setup_t *setup = xcb_get_setup(listener->connection);
        const XState state = look_at_extensions(listener);
        XScreens screens = {};
        uint32_t root;

        listener->client_mask = ~setup->resource_id_mask;
        while (state == X_LISTENING && x_next_screen(&screens, setup, &root))
                listen_to_all(listener, root, 0);
        return state;
}

static void listen_until_end(XListener *listener) {
        xcb_generic_event_t *event;

        xcb_flush(listener->connection);
        while ((event = xcb_wait_for_event(listener->connection))) {
                take_event(listener, event);
                free(event);
                xcb_flush(listener->connection);
        }
}

/* Whether the listener is still wanted, as connecting may have taken long. */
static bool publish_fd(XListener *listener, int fd) {
        bool has_owner;

        pthread_mutex_lock(&listener->lock);
        listener->fd = fd;
        has_owner = listener->has_owner;
        pthread_mutex_unlock(&listener->lock);
        return has_owner;
}

static XState run_connection(XListener *listener) {
        XState state;

        if (xcb_connection_has_error(listener->connection))
                return X_NO_DISPLAY;
        if (!publish_fd(listener, xcb_get_file_descriptor(listener->connection)))
                return X_ENDED;
        state = listen_to_screens(listener);
        if (state != X_LISTENING)
                return state;
        set_state(listener, X_LISTENING);
        listen_until_end(listener);
        return X_ENDED;
}

static void *listener_run(void *userdata) {
        XListener *listener = userdata;
        XState state;

        listener->connection = xcb_connect(NULL, NULL);
        state = run_connection(listener);
        publish_fd(listener, -1);
        xcb_disconnect(listener->connection);
        pthread_mutex_lock(&listener->lock);
        listener->state = state;
        listener->has_thread = false;
        unlock_or_free(listener);
        return NULL;
}

static int start_thread(XListener *listener) {
        pthread_t thread;
        int r;

        listener->has_thread = true;
        r = thread_start(&thread, NULL, listener_run, listener);
        if (r >= 0)
                return -pthread_detach(thread);
        listener->has_thread = false;
        return r;
}

int x_listener_start(XListener **ret) {
        XListener *listener;
        int r;

        if (atomic_fetch_add(&n_listeners, 1) >= X_LISTENERS_MAX) {
                atomic_fetch_sub(&n_listeners, 1);
                return -EBUSY;
        }
        listener = calloc(1, sizeof(*listener));
        if (!listener) {
                atomic_fetch_sub(&n_listeners, 1);
                return -ENOMEM;
        }
        pthread_mutex_init(&listener->lock, NULL);
        listener->has_owner = true;
        listener->fd = -1;
        r = start_thread(listener);
        if (r < 0) {
                x_listener_stop(listener);
                return r;
        }
        *ret = listener;
        return 0;
}

XListener *x_listener_stop(XListener *listener) {
        if (!listener)
                return NULL;
        pthread_mutex_lock(&listener->lock);
        listener->has_owner = false;
        if (listener->fd >= 0)
                shutdown(listener->fd, SHUT_RDWR); /* this ends the thread's wait */
        unlock_or_free(listener);
        return NULL;
}

XState x_listener_state(XListener *listener) {
        XState state;

        pthread_mutex_lock(&listener->lock);
        state = listener->state;
        pthread_mutex_unlock(&listener->lock);
        return state;
}

bool x_listener_take(XListener *listener, XFrame *ret) {
        bool has_one;

        pthread_mutex_lock(&listener->lock);
        has_one = listener->n > 0;
        if (has_one) {
                *ret = listener->frames[listener->first];
                listener->first = (listener->first + 1) % X_FRAMES_MAX;
                listener->n--;
        }
        pthread_mutex_unlock(&listener->lock);
        return has_one;
}

void x_listener_count(XListener *listener, uint64_t *ret_n_lost, uint64_t *ret_n_left_out) {
        pthread_mutex_lock(&listener->lock);
        *ret_n_lost = listener->n_lost;
        *ret_n_left_out = listener->n_left_out;
        pthread_mutex_unlock(&listener->lock);
}
