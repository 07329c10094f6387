/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Cgroup settings: a CgroupConfig that has been checked, and what to say if the machine lacks what it asks for
 */

#include <stdint.h>

#include "host/probe.h"
#include "probes/system/cgroup-files.h"
#include "probes/system/cgroup-name.h"

typedef struct CgroupSettings {
        uint64_t period_ns;
        uint32_t files; /* bits: which are to be read */
        unsigned max_depth;
        CgroupSelect select; /* its patterns are owned */
} CgroupSettings;

/* `config` may be NULL. Returns 0, PROBE_E_REFUSED or -ENOMEM; the settings are to be taken down in any case. */
int cgroup_settings_init(CgroupSettings *ret,
                         const Perfetto__Protos__CgroupConfig *config,
                         char **ret_error);
void cgroup_settings_deinit(CgroupSettings *settings);

/* Says why no cgroup below `top` has a file. */
void cgroup_note_missing(ProbeNotes *notes, int top, CgroupFile file);
