/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Record own: what a preset records for users who may not record the system
 */

#include "client/record-request.h"

/* Makes the StartSession() call without data sources that need the permission to record the system, and reports
 * that. The request is changed accordingly. Returns NULL if only events of programs would be left, or no memory. */
sd_bus_message *record_own_start(RecordRequest *request, const BusClient *client, int output_fd);
