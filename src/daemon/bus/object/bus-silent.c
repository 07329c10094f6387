/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The replies of Flush() and Stop(), which name the producers that did not answer in time.
 */

#include "bus/object/bus-session.h"

int bus_session_reply_silent(sd_bus_message **ret, sd_bus_message *call, const Session *session) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        InstanceCursor cursor = {};
        InstanceInfo info;
        int r;

        r = sd_bus_message_new_method_return(call, &reply);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(ssuu)");
        while (r >= 0 && session_next_silent(session, &cursor, &info))
                r = sd_bus_message_append(reply,
                                          "(ssuu)",
                                          info.source,
                                          info.producer,
                                          (uint32_t)info.identity.uid,
                                          (uint32_t)info.identity.pid);
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        if (r < 0)
                return r;
        *ret = TAKE(reply);
        return 0;
}
