/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Extension descriptors, as the parts of the core know them; service.h has how they come.
 */

#include "core/model/peer.h"
#include "shared/bytes.h"

enum {
        _SERVICE_E_SUCCESS,
        SERVICE_E_LIMIT,   /* SERVICE_DESCRIPTORS_BYTES_MAX */
        SERVICE_E_INVALID, /* no FileDescriptorSet, or not compressed with gzip */
};

void service_free_descriptors(Service *service);

/* Writes them at the beginning of a trace. */
int session_put_descriptors(Session *session, Bytes *out);

/* What fields programs add to TrackEvent: a serialized google.protobuf.FileDescriptorSet, for every trace. Copies.
 * Returns 0, SERVICE_E_… or -ENOMEM. */
int service_add_descriptor(Service *service,
                           const char *file_name,
                           const void *data,
                           size_t n,
                           bool is_gzip);
bool service_has_descriptor(const Service *service, const char *file_name);
