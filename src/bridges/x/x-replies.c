/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* X replies: reads messages of an X server without trusting the lengths in them */

#include <string.h>

#include "bridges/x/x-replies.h"
#include "shared/macro.h"

/* Lengths in messages leave out these heads, and count units of four bytes. */
#define UNIT_BYTES       4
#define MESSAGE_BYTES    32u
#define SETUP_HEAD_BYTES 8u

bool x_event_has(const xcb_generic_event_t *event, size_t n_bytes) {
        const xcb_ge_generic_event_t *generic = (const void *)event;

        return MESSAGE_BYTES + (uint64_t)generic->length * UNIT_BYTES >= n_bytes;
}

size_t x_n_children(const xcb_query_tree_reply_t *reply) {
        return MIN((uint32_t)reply->children_len, reply->length);
}

pid_t x_client_pid(const xcb_res_query_client_ids_reply_t *reply) {
        const uint8_t *at = (const uint8_t *)reply + MESSAGE_BYTES;
        uint64_t n_left = (uint64_t)reply->length * UNIT_BYTES;
        xcb_res_client_id_value_t value;
        uint32_t pid;

        for (uint32_t i = 0; i < reply->num_ids && n_left >= sizeof(value); i++) {
                memcpy(&value, at, sizeof(value));
                at += sizeof(value);
                n_left -= sizeof(value);
                if (value.length > n_left)
                        break;
                if (value.spec.mask & XCB_RES_CLIENT_ID_MASK_LOCAL_CLIENT_PID &&
                    value.length >= sizeof(pid)) {
                        memcpy(&pid, at, sizeof(pid));
                        return (pid_t)pid;
                }
                at += value.length;
                n_left -= value.length;
        }
        return 0;
}

/* Adds the depths of a screen, each with its visuals. They may lie behind the end. */
static size_t
skip_depths(const xcb_setup_t *setup, size_t n_bytes, size_t at, const xcb_screen_t *screen) {
        xcb_depth_t depth;

        at += sizeof(*screen);
        for (unsigned i = 0; i < screen->allowed_depths_len && at + sizeof(depth) <= n_bytes; i++) {
                memcpy(&depth, (const uint8_t *)setup + at, sizeof(depth));
                at += sizeof(depth) + depth.visuals_len * sizeof(xcb_visualtype_t);
        }
        return at;
}

bool x_next_screen(XScreens *screens, const xcb_setup_t *setup, uint32_t *ret_root) {
        const size_t n_bytes = SETUP_HEAD_BYTES + (size_t)setup->length * UNIT_BYTES;
        xcb_screen_t screen;

        if (n_bytes < sizeof(*setup) || screens->n >= setup->roots_len)
                return false;
        if (screens->n++ == 0)
                screens->at = sizeof(*setup) + ALIGN_UP((size_t)setup->vendor_len, UNIT_BYTES) +
                              setup->pixmap_formats_len * sizeof(xcb_format_t);
        if (screens->at + sizeof(screen) > n_bytes)
                return false;
        memcpy(&screen, (const uint8_t *)setup + screens->at, sizeof(screen));
        screens->at = skip_depths(setup, n_bytes, screens->at, &screen);
        *ret_root = screen.root;
        return true;
}
