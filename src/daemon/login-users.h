/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Login users: whose account a peer belongs to, so that limits count for people and not for uids
 *
 * An account has more uids than its own: Debian gives each user 65536 subordinate ones (subuid(5)), and systemd lends
 * more. A process with one of them is in the slice of the user who started it, as its cgroup says; and the
 * range is in /etc/subuid, which also holds for a process that has gone or that may not be looked at.
 *
 * Both files are the administrator's. They are read once, and again when they have changed. No name service is asked,
 * as that may not answer: a range of somebody who is not in /etc/passwd is a user of its own.
 *
 * Peers are looked up by several threads; a lock is over what was read.
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
        UidRange *ranges; /* as they are in subuid: the first one counts */
        size_t n_ranges;
} LoginUsers;

/* Strings stay valid. */
void login_users_init(LoginUsers *users,
                      const char *subuid_path,
                      const char *passwd_path,
                      const char *proc_path);
void login_users_deinit(LoginUsers *users);

/* The uid of the account. Root is root, and nobody else is. From any thread. */
uid_t login_users_find(LoginUsers *users, const Identity *identity);
