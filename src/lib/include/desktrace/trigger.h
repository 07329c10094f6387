/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Triggers: tell recording sessions that something has happened
 *
 * A session may listen to names, and start, stop or take a snapshot when one is sent: so a program that notices a slow
 * frame, a failed request or a broken invariant sends a trigger, and there is a trace of the seconds before it. The
 * session's config says which names do what, and how often (trigger_config of perfetto.protos.TraceConfig). The session
 * belongs to the same user, or to another one whose config sets from_other_users; a trigger that no session listens to
 * has no effect.
 *
 * A trigger goes to the services that the program is registered with (see <desktrace/source.h>), or, if it offers no
 * data source, to those that are there. A trigger that could not be sent within a second, because no service is there
 * or it does not answer, is dropped.
 */

#ifdef __cplusplus
extern "C" {
#endif

#define DT_TRIGGER_NAME_MAX 128 /* bytes */

/* Sends the trigger `name`, which is copied: printable ASCII, from 1 to DT_TRIGGER_NAME_MAX characters. Returns at
 * once: the library's thread, which this starts if need be, does the sending, so a trigger is lost if the program
 * exits right afterwards. Thread-safe, also in callbacks; not for signal handlers. Returns 0 if it will be sent, or
 * else -EINVAL (invalid name), -ENOBUFS (64 others wait to be sent), -ENOMEM, -ECANCELED (a forked child), or an
 * errno of starting the thread. The caller does not learn whether a session listens; a user may send about ten a
 * second of the triggers that sessions listen to. */
int dt_trigger(const char *name);

#ifdef __cplusplus
}
#endif
