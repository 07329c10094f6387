/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Triggers: telling whoever records that something has happened
 *
 * A recording may listen to names, and start, stop or take a snapshot of what it has when one is sent: so a program
 * that notices a slow frame, a failed request or a broken invariant sends a trigger, and somebody has the trace of
 * the seconds before it. Which names do what, and how often, is said by who records (trigger_config of
 * perfetto.protos.TraceConfig): the same user, or another one whose config says from_other_users; when nobody listens a
 * trigger is nothing.
 *
 * A trigger goes to the services that the program is registered with (see <desktrace/source.h>), and to those that are
 * there if it offers no data source. One that could not be sent within a second, because no service is there or
 * it does not answer, is forgotten.
 */

#ifdef __cplusplus
extern "C" {
#endif

#define DT_TRIGGER_NAME_MAX 128 /* bytes */

/* Sends the trigger `name`, which is copied: printable ASCII, from 1 to DT_TRIGGER_NAME_MAX characters. Returns
 * at once: the sending is done on the library's thread, which this starts if need be, so a program that ends in the
 * next moment takes it along. Thread-safe, also in callbacks; not for signal handlers.
 *
 * 0: it will be sent. -EINVAL: no such name; -ENOBUFS: 64 others wait to be sent; -ENOMEM; -ECANCELED: this is a
 * forked child; or an errno of starting the thread. Whether anybody listens is not told; of those that somebody
 * does listen to, one user may send about ten a second. */
int dt_trigger(const char *name);

#ifdef __cplusplus
}
#endif
