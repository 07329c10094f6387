/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Record own: what a preset records for somebody who may not record the system
 */

#include "client/record-request.h"

/* The StartSession() call without what needs the permission to record the system, which it says. The request has become
 * that. NULL: there is nothing of one's own but events of programs, or no memory. */
sd_bus_message *record_own_start(RecordRequest *request, const BusClient *client, int output_fd);
