/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Export OTLP: slices as spans of OpenTelemetry, in the JSON or in the protobuf that its protocol defines
 *
 * A line is a request with spans of one process and one category, as collectors read them from files; in protobuf, all
 * of them are one request. The recording is one trace; a span's number is that of its slice. Instants are events of the
 * span that they are in, flows are links.
 */

#include "client/export.h"

#define OTLP_SPANS_MAX      256 /* in a line */
#define OTLP_ATTRIBUTES_MAX 128 /* attributes of a span or event; backends usually take this many */
#define OTLP_ITEMS_MAX      128 /* events and links of a span; likewise */

int export_otlp(Export *export);
int export_otlp_protobuf(Export *export);
