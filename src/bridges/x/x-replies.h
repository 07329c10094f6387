/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * X replies: reads messages of an X server without trusting the lengths in them
 *
 * libxcb hands over messages as they came. Their lists say how many items they have. libxcb does not compare that
 * with the message's length, so its own iterators would read past the end. A server may be any program that $DISPLAY
 * names.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <xcb/res.h>
#include <xcb/xcb.h>

/* Whether an event of an extension has at least n_bytes. */
bool x_event_has(const xcb_generic_event_t *event, size_t n_bytes);
/* How many of the children that the reply announces it really has. */
size_t x_n_children(const xcb_query_tree_reply_t *reply);
/* Returns the first process in the reply, or 0. */
pid_t x_client_pid(const xcb_res_query_client_ids_reply_t *reply);

/* Steps through the screens; begin with {}. */
typedef struct XScreens {
        size_t at; /* bytes, from the beginning of the setup */
        unsigned n;
} XScreens;

bool x_next_screen(XScreens *screens, const xcb_setup_t *setup, uint32_t *ret_root);
