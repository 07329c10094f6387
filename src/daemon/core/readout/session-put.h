/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Steps of a read-out that take more than one packet.
 */

#include "config/config.h"
#include "core/model/peer.h"
#include "shared/bytes.h"

/* The config for the trace: as it was sent, but with the flush period that is used. */
int session_put_config(const Session *session, const Config *config, Bytes *out);
int session_put_notes(Session *session, Bytes *out);

/* A step of the read-out. */
int session_put_triggers(Session *session, Bytes *out);
