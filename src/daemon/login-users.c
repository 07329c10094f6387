/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "login-users.h"
#include "shared/fd.h"
#include "shared/log.h"
#include "shared/macro.h"

#define PROC_FILE_BYTES_MAX (64u << 10)
#define NO_UID              ((uid_t)-1)

void login_users_init(LoginUsers *users,
                      const char *subuid_path,
                      const char *passwd_path,
                      const char *proc_path) {
        *users = (LoginUsers){
                .subuid_path = subuid_path,
                .passwd_path = passwd_path,
                .proc_path = proc_path,
        };
}

void login_users_deinit(LoginUsers *users) {
        free(users->accounts);
        free(users->ranges);
        *users = (LoginUsers){};
}

/*
 * The files
 */

/* Reads a number up to the separator or the end. Returns NO_UID if that is not a number. */
static uid_t parse_uid(const char *text, char separator) {
        unsigned long long value;
        char *end;

        if (*text < '0' || *text > '9')
                return NO_UID;
        errno = 0;
        value = strtoull(text, &end, 10);
        return errno || value >= NO_UID || (*end && *end != separator) ? NO_UID : (uid_t)value;
}

/* Takes the next line out of the text. Returns NULL after the last line. */
static char *next_line(char **text) {
        char *line = *text, *end;

        if (!*line)
                return NULL;
        end = line + strcspn(line, "\n");
        *text = *end ? end + 1 : end;
        *end = '\0';
        return line;
}

/* The nth of the fields between colons; they stay where they are. NULL: there are fewer. */
static const char *line_field(const char *line, size_t n) {
        for (; n > 0; n--) {
                line = strchr(line, ':');
                if (!line)
                        return NULL;
                line++;
        }
        return line;
}

static char *read_lines(const char *path) {
        char *text;
        int r;

        r = fd_read_file(&text, NULL, AT_FDCWD, path, LOGIN_USERS_FILE_BYTES_MAX);
        if (r >= 0)
                return text;
        if (r != -ENOENT)
                log_warning("cannot read %s: %s", path, strerror(-r));
        return NULL;
}

static int add_account(LoginUsers *users, uid_t uid) {
        uid_t *grown = reallocarray(users->accounts, users->n_accounts + 1, sizeof(*grown));

        if (!grown)
                return -ENOMEM;
        users->accounts = grown;
        users->accounts[users->n_accounts++] = uid;
        return 0;
}

static void read_accounts(LoginUsers *users) {
        _cleanup_(freep) char *text = read_lines(users->passwd_path);
        char *rest = text, *line;

        users->n_accounts = 0;
        while (rest && (line = next_line(&rest))) {
                const char *field = line_field(line, 2);
                uid_t uid = field ? parse_uid(field, ':') : NO_UID;

                if (uid != NO_UID && add_account(users, uid) < 0)
                        return;
        }
}

/* The account of that name, in the text of passwd(5). */
static uid_t find_account(const char *passwd, const char *name, size_t n_name) {
        for (const char *line = passwd; line && *line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (!strncmp(line, name, n_name) && line[n_name] == ':') {
                        const char *field = line_field(line, 2);

                        return field ? parse_uid(field, ':') : NO_UID;
                }
        }
        return NO_UID;
}

/* A user may be named by its number as well. What root lends is not root. */
static uid_t range_user(const char *passwd, const char *line, uid_t begin) {
        uid_t uid = find_account(passwd, line, strcspn(line, ":"));

        if (uid == NO_UID)
                uid = parse_uid(line, ':');
        return uid == NO_UID || uid == 0 ? begin : uid;
}

static int add_range(LoginUsers *users, const char *passwd, const char *line) {
        const char *begin = line_field(line, 1), *n = line_field(line, 2);
        UidRange range, *grown;

        if (!n)
                return 0;
        range = (UidRange){ .begin = parse_uid(begin, ':'), .n = parse_uid(n, ':') };
        if (range.begin == NO_UID || range.n == NO_UID)
                return 0;
        range.user = range_user(passwd, line, range.begin);
        grown = reallocarray(users->ranges, users->n_ranges + 1, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        users->ranges = grown;
        users->ranges[users->n_ranges++] = range;
        return 0;
}

static void read_ranges(LoginUsers *users) {
        _cleanup_(freep) char *passwd = read_lines(users->passwd_path);
        _cleanup_(freep) char *text = read_lines(users->subuid_path);
        char *rest = text, *line;

        users->n_ranges = 0;
        while (rest && (line = next_line(&rest)))
                if (add_range(users, passwd, line) < 0)
                        return;
}

/* Whether the file is another one than was seen, which it then is. */
static bool has_changed(const char *path, struct stat *seen) {
        struct stat now = {};

        if (stat(path, &now) < 0)
                now = (struct stat){};
        if (now.st_dev == seen->st_dev && now.st_ino == seen->st_ino &&
            now.st_size == seen->st_size && now.st_mtim.tv_sec == seen->st_mtim.tv_sec &&
            now.st_mtim.tv_nsec == seen->st_mtim.tv_nsec)
                return false;
        *seen = now;
        return true;
}

static void refresh(LoginUsers *users) {
        const bool accounts_changed = has_changed(users->passwd_path, &users->passwd_seen);

        if (!has_changed(users->subuid_path, &users->subuid_seen) && !accounts_changed)
                return;
        read_accounts(users);
        read_ranges(users);
}

/*
 * The process
 */

/* The number behind a key, at the beginning of a line. */
static uid_t find_effective_uid(const char *status) {
        const char *at = strstr(status, "\nUid:\t");

        at = at ? strchr(at + strlen("\nUid:\t"), '\t') : NULL;
        return at ? parse_uid(at + 1, '\t') : NO_UID;
}

/* Of the unified hierarchy, or of systemd's own. Only at the root of the tree: below, users make control groups of any
 * name. */
static uid_t find_slice_user(char *cgroup) {
        static const char prefix[] = "/user.slice/user-";
        char *line;

        while ((line = next_line(&cgroup))) {
                const char *hierarchy = line_field(line, 1), *path = line_field(line, 2);

                if (!path || strncmp(path, prefix, strlen(prefix)) != 0 ||
                    (strncmp(line, "0::", 3) != 0 && strncmp(hierarchy, "name=systemd:", 13) != 0))
                        continue;
                return parse_uid(path + strlen(prefix), '.');
        }
        return NO_UID;
}

/* The directory is the process's own: nothing is read of another one that has got its number. One with another
 * uid than the peer is not the peer. */
static uid_t find_user_of_process(const LoginUsers *users, const Identity *identity) {
        _cleanup_(freep) char *status = NULL, *cgroup = NULL;
        _cleanup_(fd_closep) int dir_fd = -1;
        char path[64];

        if (identity->pid <= 0)
                return NO_UID;
        snprintf(path, sizeof(path), "%s/%d", users->proc_path, (int)identity->pid);
        dir_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir_fd < 0 || fd_read_file(&status, NULL, dir_fd, "status", PROC_FILE_BYTES_MAX) < 0 ||
            find_effective_uid(status) != identity->uid ||
            fd_read_file(&cgroup, NULL, dir_fd, "cgroup", PROC_FILE_BYTES_MAX) < 0)
                return NO_UID;
        return find_slice_user(cgroup);
}

/* A range may have been given out over the uids of accounts: those are somebody's own. */
static bool is_account(const LoginUsers *users, uid_t uid) {
        for (size_t i = 0; i < users->n_accounts; i++)
                if (users->accounts[i] == uid)
                        return true;
        return false;
}

static uid_t find_user_of_range(const LoginUsers *users, uid_t uid) {
        for (size_t i = 0; i < users->n_ranges; i++)
                if (uid >= users->ranges[i].begin &&
                    uid - users->ranges[i].begin < users->ranges[i].n)
                        return is_account(users, uid) ? NO_UID : users->ranges[i].user;
        return NO_UID;
}

/* What root's own slice runs as somebody else is not root: limits hold for it. */
uid_t login_users_find(LoginUsers *users, const Identity *identity) {
        uid_t user;

        if (identity->uid == 0)
                return 0;
        refresh(users);
        user = find_user_of_process(users, identity);
        if (user == NO_UID || user == 0)
                user = find_user_of_range(users, identity->uid);
        return user == NO_UID ? identity->uid : user;
}
