/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Record own: what a preset records for users who may not record the system
 */

#include "client/record-request.h"

/* Makes the StartSession() call without data sources that need the permission to record the system, and reports
 * that. The request is changed accordingly. Returns NULL if only events of programs would be left, or no memory. */
sd_bus_message *record_own_start(RecordRequest *request, const BusClient *client, int output_fd);

/* Connects root to the probes, once, if `error` says that they have not heard of root; they believe that root wants
 * something only while it is connected. Returns false if there was no need, or no success. */
bool record_speak_for_root(int *probes_fd, const sd_bus_error *error);
