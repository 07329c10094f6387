/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Descriptor files
 *
 * Programs may extend Perfetto's TrackEvent with fields of their own, and readers of a trace need their descriptions.
 * So each installed program puts one into descriptors.d, and the service adds all of them to each trace: a
 * google.protobuf.FileDescriptorSet in NAME.desc ("protoc --descriptor_set_out"), or the same compressed in
 * NAME.desc.gz.
 */

#include "core/service.h"

/* Passes all files to the service. Files of the same name in /etc win over those in /run, and those over the
 * installed ones. Unusable files are logged and left out. Returns 0 or -ENOMEM. */
int descriptor_files_load(Service *service);
