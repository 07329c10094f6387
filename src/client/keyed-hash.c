/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Keyed hash: hashes of untrusted keys, for GHashTable */

#include <string.h>

#include "client/keyed-hash.h"
#include "shared/siphash.h"

guint keyed_hash_bytes(const void *data, size_t n) {
        const uint64_t hash = siphash_keyed(data, n);

        return (guint)(hash ^ hash >> 32);
}

guint keyed_hash_uint32(gconstpointer key) {
        return keyed_hash_bytes(key, sizeof(uint32_t));
}

guint keyed_hash_uint64(gconstpointer key) {
        return keyed_hash_bytes(key, sizeof(uint64_t));
}

guint keyed_hash_number(gconstpointer key) {
        const guint number = GPOINTER_TO_UINT(key);

        return keyed_hash_bytes(&number, sizeof(number));
}

guint keyed_hash_text(gconstpointer key) {
        return keyed_hash_bytes(key, strlen(key));
}
