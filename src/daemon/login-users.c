/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads passwd(5), subuid(5) and cgroups, and keeps what was read until one of the files changes. */

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

typedef struct Account {
        const char *name;
        uid_t uid;
} Account;

typedef struct Accounts {
        char *text; /* of the names */
        Account *all;
        size_t n;
} Accounts;

void login_users_init(LoginUsers *users,
                      const char *subuid_path,
                      const char *passwd_path,
                      const char *proc_path) {
        *users = (LoginUsers){
                .subuid_path = subuid_path,
                .passwd_path = passwd_path,
                .proc_path = proc_path,
                .lock = PTHREAD_MUTEX_INITIALIZER,
        };
}

void login_users_deinit(LoginUsers *users) {
        free(users->accounts);
        free(users->ranges);
        pthread_mutex_destroy(&users->lock);
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

/* The nth field between colons; the fields are not copied. Returns NULL if there are fewer. */
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

/* Makes room for one more item than n. */
static bool reserve(void **items, size_t n, size_t n_bytes) {
        void *grown;

        if (n > 0 && (n & (n - 1)) != 0)
                return true; /* it has room up to a power of two, and grows when that is full */
        grown = reallocarray(*items, n > 0 ? 2 * n : 1, n_bytes);
        if (!grown)
                return false;
        *items = grown;
        return true;
}

static int compare_names(const void *a, const void *b) {
        const Account *x = a, *y = b;
        const int r = strcmp(x->name, y->name);

        return r ? r : (x->name > y->name) - (x->name < y->name);
}

static int compare_uids(const void *a, const void *b) {
        const uid_t x = *(const uid_t *)a, y = *(const uid_t *)b;

        return (x > y) - (x < y);
}

static void add_account(Accounts *accounts, char *line) {
        const char *field = line_field(line, 2);
        const uid_t uid = field ? parse_uid(field, ':') : NO_UID;

        if (uid == NO_UID || !reserve((void **)&accounts->all, accounts->n, sizeof(Account)))
                return;
        line[strcspn(line, ":")] = '\0';
        accounts->all[accounts->n++] = (Account){ .name = line, .uid = uid };
}

/* Accounts of passwd(5), sorted by name; of several with the same name the first one comes first. */
static void read_accounts(Accounts *accounts, const char *path) {
        char *rest, *line;

        *accounts = (Accounts){ .text = read_lines(path) };
        rest = accounts->text;
        while (rest && (line = next_line(&rest)))
                add_account(accounts, line);
        if (accounts->n > 0)
                qsort(accounts->all, accounts->n, sizeof(Account), compare_names);
}

static void accounts_deinit(Accounts *accounts) {
        free(accounts->all);
        free(accounts->text);
}

static uid_t find_account(const Accounts *accounts, const char *name) {
        size_t begin = 0, end = accounts->n;

        while (begin < end) {
                const size_t middle = begin + (end - begin) / 2;

                if (strcmp(accounts->all[middle].name, name) < 0)
                        begin = middle + 1;
                else
                        end = middle;
        }
        return begin < accounts->n && streq(accounts->all[begin].name, name)
                       ? accounts->all[begin].uid
                       : NO_UID;
}

static void keep_uids(LoginUsers *users, const Accounts *accounts) {
        uid_t *uids = calloc(MAX(accounts->n, (size_t)1), sizeof(*uids));

        free(users->accounts);
        users->accounts = uids;
        users->n_accounts = uids ? accounts->n : 0;
        for (size_t i = 0; i < users->n_accounts; i++)
                uids[i] = accounts->all[i].uid;
        if (users->n_accounts > 0)
                qsort(uids, users->n_accounts, sizeof(*uids), compare_uids);
}

/* A user may also be named by its number. Uids that root lends do not count as root. */
static uid_t range_user(const Accounts *accounts, const char *name, uid_t begin) {
        uid_t uid = find_account(accounts, name);

        if (uid == NO_UID)
                uid = parse_uid(name, '\0');
        return uid == NO_UID || uid == 0 ? begin : uid;
}

static void add_range(LoginUsers *users, const Accounts *accounts, char *line) {
        const char *begin = line_field(line, 1), *n = line_field(line, 2);
        UidRange range;

        if (!n)
                return;
        range = (UidRange){ .begin = parse_uid(begin, ':'), .n = parse_uid(n, ':') };
        if (range.begin == NO_UID || range.n == NO_UID ||
            !reserve((void **)&users->ranges, users->n_ranges, sizeof(range)))
                return;
        line[strcspn(line, ":")] = '\0';
        range.user = range_user(accounts, line, range.begin);
        users->ranges[users->n_ranges++] = range;
}

static void read_ranges(LoginUsers *users, const Accounts *accounts) {
        _cleanup_(freep) char *text = read_lines(users->subuid_path);
        char *rest = text, *line;

        free(users->ranges);
        users->ranges = NULL;
        users->n_ranges = 0;
        while (rest && (line = next_line(&rest)))
                add_range(users, accounts, line);
}

/* Whether the file has changed since the last look, and notes how it is now. */
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
        Accounts accounts;

        if (!has_changed(users->subuid_path, &users->subuid_seen) && !accounts_changed)
                return;
        read_accounts(&accounts, users->passwd_path);
        keep_uids(users, &accounts);
        read_ranges(users, &accounts);
        accounts_deinit(&accounts);
}

/*
 * The process
 */

/* The number after a key at the beginning of a line. */
static uid_t find_effective_uid(const char *status) {
        const char *at = strstr(status, "\nUid:\t");

        at = at ? strchr(at + strlen("\nUid:\t"), '\t') : NULL;
        return at ? parse_uid(at + 1, '\t') : NO_UID;
}

/* The slice in the unified hierarchy or in systemd's own. It counts only at the root of the tree: below, users make
 * control groups of any name. */
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

/* Files are opened relative to the process's directory, so nothing is read of another process that has got the same
 * pid. A process with another uid than the peer's is not the peer. */
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

/* A range of subordinate uids may overlap uids of accounts: those belong to the accounts. */
static bool is_account(const LoginUsers *users, uid_t uid) {
        return users->n_accounts > 0 &&
               bsearch(&uid, users->accounts, users->n_accounts, sizeof(uid), compare_uids);
}

static uid_t find_user_of_range(const LoginUsers *users, uid_t uid) {
        for (size_t i = 0; i < users->n_ranges; i++)
                if (uid >= users->ranges[i].begin &&
                    uid - users->ranges[i].begin < users->ranges[i].n)
                        return is_account(users, uid) ? NO_UID : users->ranges[i].user;
        return NO_UID;
}

/* A process in root's slice that runs as another user is not root: limits apply to it. */
uid_t login_users_find(LoginUsers *users, const Identity *identity) {
        uid_t user;

        if (identity->uid == 0)
                return 0;
        user = find_user_of_process(users, identity);
        if (user == NO_UID || user == 0) {
                pthread_mutex_lock(&users->lock);
                refresh(users);
                user = find_user_of_range(users, identity->uid);
                pthread_mutex_unlock(&users->lock);
        }
        return user == NO_UID ? identity->uid : user;
}
