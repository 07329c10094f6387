/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * linux.systemd_journald: what is logged while a trace is recorded
 *
 * Follows the machine's journal from the start of the recording, or of the boot. Each entry is a packet with the time
 * at which it was logged. A last packet says how many entries were read, and how many could not be read.
 */

#include <systemd/sd-journal.h>

#include "host/probe.h"

#define JOURNAL_ENTRIES_PER_POLL  256 /* further ones wait for the next poll, which comes at once */
#define JOURNAL_ENTRIES_PER_FLUSH 8192 /* further ones are left to later polls */

extern const ProbeOps journald_probe_ops;

/* The journal in a directory, or the machine's if that is NULL. Returns 0, PROBE_E_REFUSED or a negative errno. */
int journal_open(sd_journal **ret, const char *directory, char **ret_error);

/* Whether there is a journal below `root` that can be read. Like ProbeOps.check(). */
int journald_check_at(int root, char **ret_error);
