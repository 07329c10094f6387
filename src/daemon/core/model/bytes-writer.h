/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bytes writer: a wire writer that grows the bytes it writes into, behind what they have.
 */

#include "shared/bytes.h"
#include "wire/wire-writer.h"

void bytes_writer_init(WireWriter *writer, Bytes *bytes);
int bytes_writer_finish(WireWriter *writer, Bytes *bytes);
/* -E2BIG, and the bytes are as before, if more than `n_bytes_max` were written. */
int bytes_writer_finish_within(WireWriter *writer, Bytes *bytes, size_t n_bytes_max);
