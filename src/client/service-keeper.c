/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Only the thread looks at the process and the store. A child gets a signal when the thread that has started it ends,
 * so the thread stays until the service has ended.
 */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client/descriptor-store.h"
#include "client/service-keeper.h"
#include "shared/fd.h"
#include "shared/thread.h"

#define END_GRACE_MS   3000
#define LOOK_PERIOD_MS 100 /* where the kernel has no pidfds */
#define NOTICE_MS      500

struct ServiceKeeper {
        char *program, *notify_path;
        int notify_fd;
        int end_fd; /* eventfd: the service is to end */
        pthread_t thread;
        bool has_thread;

        /* The thread's. */
        DescriptorStore store;
        pid_t pid; /* 0: it has ended */
        int pid_fd;
        bool is_ready; /* some process of it was */
        gint64 end_by; /* in usec; 0: it is not to end */
        gint64 starts[SERVICE_STARTS_MAX];
        size_t n_starts;

        /* Both threads'. */
        pthread_mutex_t lock;
        pthread_cond_t changed;
        bool has_failed;
        int exit_status;
};

static int keeper_spawn(ServiceKeeper *keeper) {
        const char *const argv[] = { keeper->program, "--standalone", NULL };
        const ProcessVariable variables[] = { { "NOTIFY_SOCKET", keeper->notify_path, false },
                                              { 0 } };
        const ProcessSpec spec = {
                .argv = argv,
                .variables = variables,
                .listen = keeper->store.all,
                .n_listen = keeper->store.n,
                .is_helper = true,
                .is_kept = true,
        };
        int r = process_spawn(&keeper->pid, &spec);

        if (r < 0)
                return r;
        keeper->pid_fd = (int)syscall(SYS_pidfd_open, keeper->pid, 0);
        keeper->starts[keeper->n_starts++ % SERVICE_STARTS_MAX] = g_get_monotonic_time();
        return 0;
}

static void keeper_hear(ServiceKeeper *keeper) {
        while (descriptor_store_hear(
                &keeper->store, keeper->notify_fd, keeper->pid, &keeper->is_ready))
                ;
}

/* By the oldest of the last few starts. */
static bool keeper_may_start(const ServiceKeeper *keeper) {
        const gint64 oldest = keeper->starts[keeper->n_starts % SERVICE_STARTS_MAX];

        return keeper->n_starts < SERVICE_STARTS_MAX ||
               g_get_monotonic_time() - oldest > (gint64)SERVICE_STARTS_MS * 1000;
}

static void keeper_fail(ServiceKeeper *keeper, int wait_status) {
        pthread_mutex_lock(&keeper->lock);
        keeper->has_failed = true;
        keeper->exit_status = process_exit_status(wait_status);
        pthread_cond_broadcast(&keeper->changed);
        pthread_mutex_unlock(&keeper->lock);
        descriptor_store_clear(&keeper->store);
}

/* false: there is no other one. */
static bool keeper_go_on(ServiceKeeper *keeper, int wait_status) {
        keeper_hear(keeper); /* what it has said last */
        keeper->pid = 0;
        keeper->pid_fd = fd_close(keeper->pid_fd);
        if (keeper->end_by > 0)
                return false;
        if (process_exit_status(wait_status) != 0 && keeper->is_ready && keeper_may_start(keeper) &&
            keeper_spawn(keeper) == 0)
                return true;
        keeper_fail(keeper, wait_status);
        return false;
}

static int keeper_poll_timeout(const ServiceKeeper *keeper) {
        const gint64 left = keeper->end_by - g_get_monotonic_time();

        if (keeper->end_by > 0)
                return (int)CLAMP(left / 1000, 0, LOOK_PERIOD_MS);
        return keeper->pid_fd < 0 ? LOOK_PERIOD_MS : -1;
}

static void keeper_wait(ServiceKeeper *keeper) {
        struct pollfd fds[] = {
                { .fd = keeper->notify_fd, .events = POLLIN },
                { .fd = keeper->pid_fd, .events = POLLIN },
                { .fd = keeper->end_by > 0 ? -1 : keeper->end_fd, .events = POLLIN },
        };

        poll(fds, ARRAY_SIZE(fds), keeper_poll_timeout(keeper));
        if (fds[2].revents) {
                keeper->end_by = g_get_monotonic_time() + (gint64)END_GRACE_MS * 1000;
                kill(keeper->pid, SIGTERM);
        } else if (keeper->end_by > 0 && g_get_monotonic_time() >= keeper->end_by)
                kill(keeper->pid, SIGKILL);
}

static void *keeper_run(void *userdata) {
        ServiceKeeper *keeper = userdata;
        bool goes_on = true;
        int status;

        while (goes_on) {
                keeper_wait(keeper);
                keeper_hear(keeper);
                if (waitpid(keeper->pid, &status, WNOHANG) == keeper->pid)
                        goes_on = keeper_go_on(keeper, status);
        }
        return NULL;
}

static int keeper_open_socket(ServiceKeeper *keeper) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const int yes = 1;

        if (strlen(keeper->notify_path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        strcpy(address.sun_path, keeper->notify_path);
        keeper->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (keeper->notify_fd < 0 ||
            setsockopt(keeper->notify_fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) < 0 ||
            bind(keeper->notify_fd, (struct sockaddr *)&address, sizeof(address)) < 0)
                return -errno;
        keeper->end_fd = eventfd(0, EFD_CLOEXEC);
        return keeper->end_fd < 0 ? -errno : 0;
}

static int keeper_take_sockets(ServiceKeeper *keeper, const ServiceKeeperOptions *options) {
        for (size_t i = 0; i < options->n_listening; i++) {
                const int fd = fcntl(options->listening[i].fd, F_DUPFD_CLOEXEC, 3);

                if (fd < 0)
                        return -errno;
                descriptor_store_add(&keeper->store, options->listening[i].name, fd);
        }
        descriptor_store_seal(&keeper->store);
        return 0;
}

DEFINE_CLEANUP(ServiceKeeper *, service_keeper_free)

int service_keeper_new(ServiceKeeper **ret, const ServiceKeeperOptions *options) {
        _cleanup_(service_keeper_freep) ServiceKeeper *keeper = g_new0(ServiceKeeper, 1);
        int r;

        keeper->program = g_strdup(options->program);
        keeper->notify_path = g_strdup(options->notify_path);
        keeper->notify_fd = keeper->end_fd = keeper->pid_fd = -1;
        pthread_mutex_init(&keeper->lock, NULL);
        pthread_cond_init(&keeper->changed, NULL);
        r = keeper_open_socket(keeper);
        if (r == 0)
                r = keeper_take_sockets(keeper, options);
        if (r == 0)
                r = keeper_spawn(keeper);
        if (r == 0)
                r = thread_start(&keeper->thread, NULL, keeper_run, keeper);
        if (r < 0)
                return r;
        keeper->has_thread = true;
        *ret = TAKE(keeper);
        return 0;
}

ServiceKeeper *service_keeper_free(ServiceKeeper *keeper) {
        const uint64_t one = 1;

        if (!keeper)
                return NULL;
        if (keeper->has_thread) {
                (void)!write(keeper->end_fd, &one, sizeof(one));
                pthread_join(keeper->thread, NULL);
        }
        process_end(&keeper->pid, END_GRACE_MS);
        descriptor_store_clear(&keeper->store);
        fd_close(keeper->pid_fd);
        fd_close(keeper->end_fd);
        if (keeper->notify_fd >= 0)
                unlink(keeper->notify_path);
        fd_close(keeper->notify_fd);
        pthread_cond_destroy(&keeper->changed);
        pthread_mutex_destroy(&keeper->lock);
        g_free(keeper->program);
        g_free(keeper->notify_path);
        g_free(keeper);
        return NULL;
}

bool service_keeper_has_failed(ServiceKeeper *keeper, int *ret_exit_status) {
        struct timespec until;
        bool has_failed;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += NOTICE_MS * 1000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&keeper->lock);
        while (!keeper->has_failed &&
               pthread_cond_timedwait(&keeper->changed, &keeper->lock, &until) == 0)
                ;
        has_failed = keeper->has_failed;
        *ret_exit_status = keeper->exit_status;
        pthread_mutex_unlock(&keeper->lock);
        return has_failed;
}
