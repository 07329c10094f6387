/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Triggers: any thread queues them, and the private thread sends them */

#include <errno.h>

#include "desktrace/trigger.h"
#include "lib/library.h"
#include "lib/source-private.h"
#include "lib/trigger.h"

static bool name_is_valid(const char *name) {
        size_t n = name ? strlen(name) : 0;

        if (n == 0 || n > DT_TRIGGER_NAME_MAX)
                return false;
        for (; *name; name++)
                if (*name < ' ' || *name > '~')
                        return false;
        return true;
}

DT_EXPORT int dt_trigger(const char *name) {
        const uint64_t now_ns = library_now_ns();
        _cleanup_(freep) Trigger *trigger = NULL;
        int r;

        if (library_inert())
                return -ECANCELED;
        if (!name_is_valid(name))
                return -EINVAL;
        r = trigger_new(&trigger, name, now_ns);
        if (r < 0)
                return r;
        library_lock();
        r = library_start();
        if (r == 0)
                r = triggers_append(trigger, now_ns);
        library_unlock();
        if (r < 0)
                return r;
        TAKE(trigger);
        library_wake();
        return 0;
}
