/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Extension descriptors, as the parts of the core know them; service.h has how they come.
 */

#include "core/service-private.h"

void service_free_descriptors(Service *service);

/* Of the beginning of a trace. */
int session_put_descriptors(Session *session, Bytes *out);
