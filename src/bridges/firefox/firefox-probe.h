/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Firefox probe: data source org.mozilla.firefox
 *
 * A Firefox that is started for a recording runs its own profiler without samples. When it ends, it writes its
 * threads' markers into a file that it has inherited from the recording client. The file is read when the recording
 * is stopped, which is later.
 */

#include "host/probe.h"

/* The file's descriptor, borrowed for as long as the process runs; -1: there is none, and nothing is recorded. */
void firefox_probe_set_profile(int fd);

extern const ProbeOps firefox_probe_ops;
