/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Hashes of what a file says, for GHashTable
 *
 * GLib's own hashes of numbers and texts are known in advance, so a file could be made of which all keys fall into one
 * place, and a table of them would take minutes. These are SipHash-2-4 with a key that this process has drawn.
 */

#include <glib.h>

guint keyed_hash_uint32(gconstpointer key); /* for g_int_equal() */
guint keyed_hash_uint64(gconstpointer key); /* for g_int64_equal() */
guint keyed_hash_number(gconstpointer key); /* for g_direct_equal(), of GUINT_TO_POINTER() */
guint keyed_hash_text(gconstpointer key);   /* for g_str_equal() */
guint keyed_hash_bytes(const void *data, size_t n);
