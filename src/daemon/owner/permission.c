/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Permission: needs are asked for in the order of their bits. What the probes ask for themselves comes last, when
 * the rest has been granted (core/model/policy.h). */

#include <stdarg.h>
#include <stdio.h>

#include "owner/permission.h"
#include "shared/fd.h"

static const AccessRefusal nobody_to_ask = {
        ACCESS_UNAVAILABLE,
        "this needs polkit's permission, and there is nobody to ask",
};

void access_refuse(AccessRefusal *ret, AccessAnswer answer, const char *format, ...) {
        va_list arguments;

        ret->answer = answer;
        va_start(arguments, format);
        vsnprintf(ret->why, sizeof(ret->why), format, arguments);
        va_end(arguments);
}

static void on_answer(void *userdata, const AccessRefusal *refusal) {
        AccessRefusal next = { .answer = ACCESS_DENIED };
        Permission *permission = userdata;
        int r = PERMISSION_E_REFUSED;

        permission->question = NULL;
        if (!refusal) {
                permission->needs &= ~permission->asked;
                refusal = &next;
                r = permission_ask(permission, &next);
        }
        if (r != PERMISSION_E_WAITS)
                permission->done(permission, r, r == PERMISSION_E_REFUSED ? refusal : NULL);
}

int permission_ask(Permission *permission, AccessRefusal *ret_refusal) {
        const AccessHost *access = &permission->access;
        int r;

        if (!permission->needs)
                return 0;
        if (!access->ops) {
                *ret_refusal = nobody_to_ask;
                return PERMISSION_E_REFUSED;
        }
        permission->asked = permission->needs & -permission->needs;
        r = access->ops->ask(&permission->question,
                             access->host,
                             &(AccessAsk){
                                     .peer = &permission->peer,
                                     .need = permission->asked,
                                     .config = permission->config,
                                     .is_interactive = permission->is_interactive,
                                     .done = on_answer,
                                     .userdata = permission,
                             },
                             ret_refusal);
        if (r < 0)
                return r;
        return r == ACCESS_E_REFUSED ? PERMISSION_E_REFUSED : PERMISSION_E_WAITS;
}

void permission_deinit(Permission *permission) {
        if (permission->question)
                permission->question = permission->access.ops->cancel(permission->question);
        permission->peer.pidfd = fd_close(permission->peer.pidfd);
}
