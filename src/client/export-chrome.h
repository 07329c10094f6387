/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Export chrome: the JSON that chrome://tracing, Perfetto and Spall read
 */

#include "client/export.h"

int export_chrome(Export *export);
