/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * SipHash: hashes of untrusted keys
 *
 * A hash that can be predicted lets somebody craft a file whose keys all collide, and a table of them would take
 * minutes. This is SipHash-1-3, with rounds enough for tables as Rust's, Python's and Ruby's have them, and with a key
 * that this process has drawn at random, so nothing may keep the results.
 */

#include <stddef.h>
#include <stdint.h>

uint64_t siphash_keyed(const void *data, size_t n);

/* One of the two words of the key: a secret for hashes that are simpler. */
uint64_t siphash_secret(unsigned i);
