/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trigger hits: what a trigger was, when it was hit and by whom. */

#include "core/model/session-triggers.h"

TriggerHit *trigger_hit_free(TriggerHit *hit) {
        if (!hit)
                return NULL;
        list_unlink(&hit->link);
        free(hit->trigger);
        free(hit->producer);
        free(hit);
        return NULL;
}

TriggerHit *trigger_hit_new(uint64_t ns, const TriggerPb *trigger, const TriggerSender *sender) {
        _cleanup_(trigger_hit_freep) TriggerHit *hit = calloc(1, sizeof(*hit));

        if (!hit)
                return NULL;
        *hit = (TriggerHit){
                .ns = ns,
                .uid = sender->identity.uid,
                .delay_ms = trigger->stop_delay_ms,
                .trigger = strdup(trigger->name),
                .producer = strdup(sender->producer ?: sender->name ?: ""),
        };
        list_init(&hit->link);
        return hit->trigger && hit->producer ? TAKE(hit) : NULL;
}
