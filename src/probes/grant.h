/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Grants: what the tracing service may record with these probes
 *
 * Nothing is set up without a grant. A grant is for one recording that polkit allows somebody (grant-question.h): each
 * of its data sources, byte for byte as polkit was asked about it, may be used once, all of them for the same session,
 * which has to begin soon. The service may only append the fields that are its own, such as the session's number and
 * the buffer.
 *
 * While a source records, its part of the grant is also kept as a file, in a directory that only these probes use. If
 * they crash and are started again, they continue what they were recording, even if the requester has left and nobody
 * could be asked again.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "host/probe.h"
#include "shared/macro.h"

#define GRANT_WAIT_NS  (UINT64_C(60) * 1000000000) /* how long a grant may wait to be used */
#define GRANTS_MAX     1024 /* data sources that were granted and not used yet */
#define GRANT_SLACK_NS (UINT64_C(60) * 1000000000) /* past the duration that was asked about */

typedef struct GrantBook GrantBook;

/* One data source that records with a grant. */
typedef struct GrantUse GrantUse;

enum {
        _GRANT_E_SUCCESS,
        GRANT_E_NONE,  /* no grant covers it */
        GRANT_E_LIMIT, /* GRANTS_MAX */
};

/* `directory` (NULL: nothing is kept) has what was being recorded before a crash, which can be used again for a
 * while. Returns 0 or a negative errno. A directory that cannot be read is only logged. */
int grant_book_new(GrantBook **ret, const char *directory, uint64_t now);
GrantBook *grant_book_free(GrantBook *book); /* all uses must have ended */
DEFINE_CLEANUP(GrantBook *, grant_book_free)

/* The user who may record, and what may be recorded. */
typedef struct GrantOwner {
        ProbeOwner owner;
        bool is_own_only; /* data sources that only show the owner's programs */
} GrantOwner;

/* Whether everything that these probes would record for the config is about the requester's own programs. */
bool grant_is_own_only(const Config *config);

/* Returns 0, GRANT_E_LIMIT or -ENOMEM. */
int grant_book_add(GrantBook *book, const Config *config, const GrantOwner *owner, uint64_t now);

/* For a data source whose serialized config came with its setup. Returns 0, GRANT_E_NONE or -ENOMEM. */
int grant_use_new(GrantUse **ret, GrantBook *book, const void *config, size_t n, uint64_t now);
GrantUse *grant_use_free(GrantUse *use);
DEFINE_CLEANUP(GrantUse *, grant_use_free)

/* The longest that it may record, including GRANT_SLACK_NS; UINT64_MAX: until it is stopped. */
uint64_t grant_use_longest_ns(const GrantUse *use);
ProbeOwner grant_use_owner(const GrantUse *use);
