/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reviewed texts: the texts that points may read */

#include <stddef.h>

#include "probes/points/reviewed-texts.h"
#include "shared/macro.h"

typedef struct ReviewedText {
        const char *library, *symbol, *where;
} ReviewedText;

static const ReviewedText reviewed[] = {
        /* The name of a Wayland interface, as protocols have it: struct wl_object has its interface first, and that its
         * name. */
        { "libwayland-server.so.0", "wl_resource_post_event", "+0(+0(+0(arg1)))" },
        { "libwayland-server.so.0", "wl_resource_post_event_array", "+0(+0(+0(arg1)))" },
        { "libwayland-client.so.0", "wl_proxy_marshal_array_flags", "+0(+0(+0(arg1)))" },
        /* The name of the GStreamer element that has the pad (GstObject: its name at 32, its parent at 40), such as
         * "videoconvert0". */
        { "libgstreamer-1.0.so.0", "gst_pad_push", "+0(+32(+40(arg1)))" },
        { "libgstreamer-1.0.so.0", "gst_pad_push_list", "+0(+32(+40(arg1)))" },
        { "libgstreamer-1.0.so.0", "gst_pad_pull_range", "+0(+32(+40(arg1)))" },
};

bool text_is_reviewed(const char *library, const char *symbol, const char *where) {
        for (size_t i = 0; i < ARRAY_SIZE(reviewed); i++)
                if (streq(reviewed[i].library, library) && streq(reviewed[i].symbol, symbol) &&
                    streq(reviewed[i].where, where))
                        return true;
        return false;
}
