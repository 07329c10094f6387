/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Rust's names of version 0 (RFC 2603)
 *
 * A name may refer back to earlier parts of itself, so a short one can stand for one without end: how deep it goes, how
 * long the text becomes and how many parts are read are all bounded.
 */

#define RUST_DEPTH_MAX      128u
#define RUST_TEXT_BYTES_MAX 4096u
#define RUST_STEPS_MAX      65536u

/* malloc'ed; NULL: it is not such a name, or is past a limit. */
char *demangle_rust(const char *name);
