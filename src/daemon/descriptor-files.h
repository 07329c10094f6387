/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Descriptor files
 *
 * Programs may extend Perfetto's TrackEvent with fields of their own. Readers of a trace need to be told what
 * these are, so descriptors.d has what the installed programs extend, and the service says it in each trace: a
 * google.protobuf.FileDescriptorSet in each NAME.desc ("protoc --descriptor_set_out"), or the same compressed in
 * NAME.desc.gz.
 */

#include "core/service.h"

/* Gives the service every file there is. Files of the same name in /etc win over those in /run, and those over the
 * installed ones. What cannot be used is logged and left out. 0 or -ENOMEM. */
int descriptor_files_load(Service *service);
