/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Stand-ins: a table of pipes, with the real descriptor of each stand-in, and which stand-ins nobody has any
 * longer */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "closer/closer.h"
#include "gate/stand-in.h"
#include "shared/fd.h"
#include "shared/list.h"
#include "shared/macro.h"

/* Tells ids from addresses in user space, which are the other data in the same epoll. */
#define ID_BIT (UINT64_C(1) << 63)

#define N_BUCKETS 64

typedef struct StandIn {
        uint64_t id; /* inode of the pipe, valid while either end is open */
        uid_t user;
        int real;
        int other_end;
        List link;
} StandIn;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static List buckets[N_BUCKETS]; /* StandIn; zeros: unused */

static List *bucket_of(uint64_t id) {
        List *bucket = &buckets[id % N_BUCKETS];

        if (!bucket->next)
                list_init(bucket);
        return bucket;
}

static StandIn *find(uint64_t id) {
        StandIn *stand_in;

        list_for_each (stand_in, bucket_of(id), link)
                if (stand_in->id == id)
                        return stand_in;
        return NULL;
}

static size_t count(uid_t user) {
        StandIn *stand_in;
        size_t n = 0;

        for (uint64_t i = 0; i < N_BUCKETS; i++)
                list_for_each (stand_in, bucket_of(i), link)
                        n += stand_in->user == user;
        return n;
}

static int read_id(uint64_t *ret, int fd) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISFIFO(st.st_mode))
                return -EBADF;
        *ret = (uint64_t)st.st_ino | ID_BIT;
        return 0;
}

static int add(StandIn *stand_in, int watch_fd, int fd) {
        struct epoll_event event = {};
        int r;

        r = read_id(&stand_in->id, fd);
        if (r < 0)
                return r;
        event.data.u64 = stand_in->id;
        if (count(stand_in->user) >= STAND_INS_PER_USER_MAX)
                return -EDQUOT;
        /* Epoll reports a pipe without readers even if no event is requested. */
        if (epoll_ctl(watch_fd, EPOLL_CTL_ADD, stand_in->other_end, &event) < 0)
                return -errno;
        list_append(bucket_of(stand_in->id), &stand_in->link);
        return 0;
}

int stand_in_new(int *ret, int watch_fd, uid_t user, int real) {
        StandIn *stand_in = calloc(1, sizeof(*stand_in));
        int fds[2] = { -1, -1 }, r = -ENOMEM;

        if (stand_in) {
                *stand_in = (StandIn){ .user = user, .real = real };
                r = pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0 ? -errno : 0;
                stand_in->other_end = fds[1];
        }
        if (r == 0) {
                pthread_mutex_lock(&lock);
                r = add(stand_in, watch_fd, fds[0]);
                pthread_mutex_unlock(&lock);
        }
        if (r < 0) {
                fd_close(fds[0]);
                fd_close(fds[1]);
                free(stand_in);
                closer_close(user, real);
                return r;
        }
        *ret = fds[0];
        return 0;
}

bool stand_in_is_id(uint64_t data) {
        return data & ID_BIT;
}

static int stand_in_free(StandIn *stand_in) {
        const int real = stand_in->real;

        list_unlink(&stand_in->link);
        fd_close(stand_in->other_end); /* closing it also removes it from the epoll */
        free(stand_in);
        return real;
}

void stand_in_gone(uint64_t id) {
        StandIn *stand_in;
        uid_t user = 0;
        int real = -1;

        pthread_mutex_lock(&lock);
        stand_in = find(id);
        if (stand_in) {
                user = stand_in->user;
                real = stand_in_free(stand_in);
        }
        pthread_mutex_unlock(&lock);
        closer_close(user, real);
}

int stand_in_take(int *ret, int fd) {
        StandIn *stand_in;
        uint64_t id = 0;
        int r;

        r = read_id(&id, fd);
        if (r < 0)
                return r;
        pthread_mutex_lock(&lock);
        stand_in = find(id);
        if (stand_in)
                *ret = stand_in_free(stand_in);
        pthread_mutex_unlock(&lock);
        return stand_in ? 0 : -EBADF;
}
