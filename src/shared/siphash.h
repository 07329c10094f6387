/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * SipHash: hashes of untrusted keys
 *
 * A hash that can be predicted lets somebody craft a file whose keys all collide, and a table of them would take
 * minutes. This is SipHash-1-3, which has as many rounds as the tables of Rust, Python and Ruby use. This process
 * draws its key at random, so hashes must not be stored.
 */

#include <stddef.h>
#include <stdint.h>

uint64_t siphash_keyed(const void *data, size_t n);

/* One of the two words of the key, as a secret for simpler hashes. */
uint64_t siphash_secret(unsigned i);
