/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Keyed hash: hashes of untrusted keys, for GHashTable
 *
 * GLib's own hashes of numbers and texts are predictable, so a file could be crafted whose keys all collide, and a
 * table of them would take minutes. These are SipHash-1-3 with a key that this process has drawn at random.
 */

#include <glib.h>

guint keyed_hash_uint32(gconstpointer key); /* for g_int_equal() */
guint keyed_hash_uint64(gconstpointer key); /* for g_int64_equal() */
guint keyed_hash_number(gconstpointer key); /* for g_direct_equal(), of GUINT_TO_POINTER() */
guint keyed_hash_text(gconstpointer key);   /* for g_str_equal() */
guint keyed_hash_bytes(const void *data, size_t n);
