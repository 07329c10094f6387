/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * systemd messages: reads a manager's D-Bus messages
 *
 * Fields of an unexpected type are skipped, as if they were missing.
 */

#include <systemd/sd-bus.h>

#include "managers/boot-stages.h"
#include "managers/unit-table.h"

#define SYSTEMD_NAME      "org.freedesktop.systemd1"
#define SYSTEMD_PATH      "/org/freedesktop/systemd1"
#define SYSTEMD_MANAGER   SYSTEMD_NAME ".Manager"
#define SYSTEMD_UNIT      SYSTEMD_NAME ".Unit"
#define SYSTEMD_JOB       SYSTEMD_NAME ".Job"
#define SYSTEMD_UNIT_PATH SYSTEMD_PATH "/unit"
#define SYSTEMD_JOB_PATH  SYSTEMD_PATH "/job"

/* The next element of a{sv}: > 0 and its name; 0 at the end; a negative errno. Then property_read() or
 * property_skip(), and property_end(). */
int property_next(sd_bus_message *message, const char **ret_name);
/* Reads the property if it has that basic type, and skips it otherwise. Returns whether it was read. */
bool property_read(sd_bus_message *message, char type, void *ret);
int property_skip(sd_bus_message *message);
int property_end(sd_bus_message *message);

/* At a{sv} of org.freedesktop.systemd1.Unit. */
int systemd_read_unit(sd_bus_message *message, UnitTimes *ret);
/* At a{sv} of org.freedesktop.systemd1.Manager. */
int systemd_read_boot(sd_bus_message *message, BootTimes *ret);
/* At a{sv} of org.freedesktop.systemd1.Job: whether it runs. */
int systemd_read_job(sd_bus_message *message, bool *ret_runs);
/* At v, a list of names. */
int systemd_read_after(sd_bus_message *message, Unit *unit);
