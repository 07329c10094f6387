/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Grants: what the tracing service may have recorded by these probes
 *
 * Without a grant nothing is set up. A grant is of one recording that polkit allows somebody (grant-question.h): each
 * of its data sources, byte for byte as it was asked about, once, all for one session, and begun soon. To these bytes
 * the service may only append the fields that are its own, such as the session's number and the buffer.
 *
 * While a source records, its part of the grant is also kept as a file, in a directory that is these probes' alone. If
 * they crash and are started again they go on with what they were recording, even if who asked for it has left and
 * nobody could be asked again.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "host/probe.h"
#include "shared/macro.h"

#define GRANT_WAIT_NS  (UINT64_C(60) * 1000000000) /* until it is used */
#define GRANTS_MAX     1024                        /* data sources that are granted and not used */
#define GRANT_SLACK_NS (UINT64_C(60) * 1000000000) /* past the duration that was asked about */

typedef struct GrantBook GrantBook;

/* One data source that records by a grant. */
typedef struct GrantUse GrantUse;

enum {
        _GRANT_E_SUCCESS,
        GRANT_E_NONE,  /* no grant covers it */
        GRANT_E_LIMIT, /* GRANTS_MAX */
};

/* `directory` (NULL: nothing is kept) has what was being recorded before a crash; it can be used again for a while. 0
 * or a negative errno; a directory that cannot be read is logged. */
int grant_book_new(GrantBook **ret, const char *directory, uint64_t now);
GrantBook *grant_book_free(GrantBook *book); /* no use may be left */
DEFINE_CLEANUP(GrantBook *, grant_book_free)

/* For whom, and what of it may be recorded. */
typedef struct GrantOwner {
        ProbeOwner owner;
        bool is_own_only; /* data sources that show the owner's programs and nothing else */
} GrantOwner;

/* Whether all that these probes would record of it is the programs of who asks. */
bool grant_is_own_only(const Config *config);

/* 0, GRANT_E_LIMIT, -ENOMEM. */
int grant_book_add(GrantBook *book, const Config *config, const GrantOwner *owner, uint64_t now);

/* For a data source whose serialized config came with its setup. 0, GRANT_E_NONE, -ENOMEM. */
int grant_use_new(GrantUse **ret, GrantBook *book, const void *config, size_t n, uint64_t now);
GrantUse *grant_use_free(GrantUse *use);
DEFINE_CLEANUP(GrantUse *, grant_use_free)

/* How long it may record at most, with GRANT_SLACK_NS; UINT64_MAX: until it is stopped. */
uint64_t grant_use_longest_ns(const GrantUse *use);
ProbeOwner grant_use_owner(const GrantUse *use);
