/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * presenting-app: a program of X11 that presents frames, and prints what the server says of each
 *
 * A line for each frame: when it was shown, in µs. Waits for some time behind every tenth one. Ends by a signal.
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xcb/present.h>
#include <xcb/xcb.h>

#define WIDTH     64
#define HEIGHT    64
#define PAUSE_US  80000 /* some frames of a display, but no pause in which nothing was wanted */
#define N_AT_ONCE 10

static void present(xcb_connection_t *connection, xcb_window_t window, xcb_pixmap_t pixmap) {
        static uint32_t serial;

        xcb_present_pixmap(connection,
                           window,
                           pixmap,
                           ++serial,
                           XCB_NONE,
                           XCB_NONE,
                           0,
                           0,
                           XCB_NONE,
                           XCB_NONE,
                           XCB_NONE,
                           XCB_PRESENT_OPTION_NONE,
                           0,
                           0,
                           0,
                           0,
                           NULL);
        xcb_flush(connection);
}

/* When the frame was shown; exits when the server is gone. */
static uint64_t wait_for_frame(xcb_connection_t *connection) {
        for (;;) {
                xcb_generic_event_t *event = xcb_wait_for_event(connection);
                const xcb_present_complete_notify_event_t *complete = (const void *)event;
                uint64_t ust;

                if (!event)
                        exit(EXIT_FAILURE);
                ust = (event->response_type & 0x7f) == 35 ? complete->ust : 0;
                free(event);
                if (ust > 0)
                        return ust;
        }
}

int main(void) {
        xcb_connection_t *connection = xcb_connect(NULL, NULL);
        xcb_window_t window = xcb_generate_id(connection);
        xcb_pixmap_t pixmap = xcb_generate_id(connection);
        const xcb_screen_t *screen;

        if (xcb_connection_has_error(connection))
                return EXIT_FAILURE;
        setvbuf(stdout, NULL, _IOLBF, 0);
        screen = xcb_setup_roots_iterator(xcb_get_setup(connection)).data;
        xcb_create_window(connection,
                          screen->root_depth,
                          window,
                          screen->root,
                          0,
                          0,
                          WIDTH,
                          HEIGHT,
                          0,
                          XCB_WINDOW_CLASS_INPUT_OUTPUT,
                          screen->root_visual,
                          0,
                          NULL);
        xcb_create_pixmap(connection, screen->root_depth, pixmap, window, WIDTH, HEIGHT);
        xcb_map_window(connection, window);
        xcb_present_query_version(connection, 1, 0);
        xcb_present_select_input(connection,
                                 xcb_generate_id(connection),
                                 window,
                                 XCB_PRESENT_EVENT_MASK_COMPLETE_NOTIFY);
        for (unsigned n = 1;; n++) {
                present(connection, window, pixmap);
                printf("%llu\n", (unsigned long long)wait_for_frame(connection));
                if (n % N_AT_ONCE == 0)
                        usleep(PAUSE_US);
        }
}
