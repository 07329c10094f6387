/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Rust's names of version 0 (RFC 2603)
 *
 * A name may refer back to earlier parts of itself, so a short one may stand for an endless one: its depth, the length
 * of the text and the number of parts that are read are all bounded.
 */

#define RUST_DEPTH_MAX      128u
#define RUST_TEXT_BYTES_MAX 4096u
#define RUST_STEPS_MAX      65536u

/* malloc'ed; NULL: not such a name, or it exceeds a limit. */
char *demangle_rust(const char *name);
