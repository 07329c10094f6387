/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Bridge registry: the data sources of desktrace-bridges */

#include "bridges/bridge-registry.h"
#include "bridges/dbus/dbus-probe.h"
#include "bridges/firefox/firefox-probe.h"
#include "bridges/pipewire/pipewire-probe.h"
#include "bridges/sysprof/sysprof-probe.h"
#include "bridges/x/x-probe.h"
#include "managers/systemd-probe.h"
#include "shared/macro.h"

const ProbeOps *const bridges[] = {
        &dbus_probe_ops,    &firefox_probe_ops, &pipewire_probe_ops,
        &sysprof_probe_ops, &x_probe_ops,       &systemd_user_probe_ops,
};

const size_t n_bridges = ARRAY_SIZE(bridges);
