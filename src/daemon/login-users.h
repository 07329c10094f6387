/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Login users: the account that a peer belongs to, so that limits count people rather than uids
 *
 * An account has more uids than its own: Debian gives each user 65536 subordinate ones (subuid(5)), and systemd lends
 * more. Two sources name the account behind such a uid. A process is in the slice of the user who started it, as its
 * cgroup shows. And /etc/subuid has the range, which also works for a process that has ended or that may not be looked
 * at.
 *
 * Both files belong to the administrator. They are read once, and again when they have changed. No name service is
 * asked, as it may not answer: a range of an account that is not in /etc/passwd counts as a user of its own.
 *
 * Several threads look up peers; a lock protects what was read.
 */

#include <pthread.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "shared/identity.h"

#define LOGIN_USERS_SUBUID "/etc/subuid"
#define LOGIN_USERS_PASSWD "/etc/passwd"
#define LOGIN_USERS_PROC   "/proc"

#define LOGIN_USERS_FILE_BYTES_MAX (8u << 20) /* a longer file counts as empty */

typedef struct UidRange {
        uid_t begin, n;
        uid_t user;
} UidRange;

typedef struct LoginUsers {
        const char *subuid_path, *passwd_path, *proc_path;
        pthread_mutex_t lock; /* over what follows */
        struct stat subuid_seen, passwd_seen;
        uid_t *accounts; /* in passwd, sorted */
        size_t n_accounts;
        UidRange *ranges; /* in the order of subuid: the first match counts */
        size_t n_ranges;
} LoginUsers;

/* Strings stay valid. */
void login_users_init(LoginUsers *users,
                      const char *subuid_path,
                      const char *passwd_path,
                      const char *proc_path);
void login_users_deinit(LoginUsers *users);

/* The uid of the account. Only root itself is root. May be called from any thread. */
uid_t login_users_find(LoginUsers *users, const Identity *identity);
