/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* desktrace trigger: fires triggers */

#include "client/trigger.h"
#include "client/verbs.h"

ExitStatus verb_trigger(Invocation *invocation) {
        ExitStatus status = invocation_parse(invocation, NULL);

        if (!status)
                status = invocation_expect(invocation, 1, TRIGGERS_MAX);
        return status ? status : triggers_send(invocation, invocation->arguments);
}
