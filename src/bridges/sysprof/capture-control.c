/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Capture control: the socket on which programs ask for rings, and a thread that answers and reads the rings */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bridges/sysprof/capture-control.h"
#include "bridges/sysprof/capture-frame.h"
#include "bridges/sysprof/capture-ring.h"
#include "shared/fd.h"
#include "shared/log.h"
#include "shared/thread.h"

#define REQUEST       "CreatRing" /* and its NUL */
#define REQUEST_BYTES 10
#define REAP_LOOKS    250 /* once in this many looks, which is five seconds */

typedef struct ControlRing {
        CaptureRing ring;
        uint64_t stream;
        pid_t pid; /* the process that wrote last, or 0 */
} ControlRing;

struct CaptureControl {
        int fd; /* -1: all programs have left, or one broke the protocol */
        int stop_fd;
        pthread_t thread;
        bool has_thread;
        char request[REQUEST_BYTES]; /* the thread's */
        size_t n_request;
        unsigned n_looks;

        pthread_mutex_t lock; /* protects all that follows */
        ControlRing rings[CONTROL_RINGS_MAX];
        size_t n_rings;
        uint64_t n_streams;
        uint64_t n_nonsense;
        List takers;
        CaptureTaker early; /* what programs write before the first taker comes */
        bool has_begun;     /* it has come */
        uint8_t copy[CAPTURE_RING_BYTES];
};

/*
 * Rings, under the lock
 */

static void give(CaptureTaker *taker, uint64_t stream, const uint8_t *data, size_t n) {
        const CapturePiece piece = { stream, n };

        if (taker->pieces.n + sizeof(piece) + n > CONTROL_QUEUE_BYTES_MAX ||
            bytes_reserve(&taker->pieces, sizeof(piece) + n) < 0) {
                taker->n_lost++;
                return;
        }
        (void)bytes_append(&taker->pieces, &piece, sizeof(piece));
        (void)bytes_append(&taker->pieces, data, n);
}

/* Notes which process writes. Returns whether this is the end of the ring. */
static bool look_through(ControlRing *ring, const uint8_t *data, size_t n) {
        CaptureFrame frame;

        while (n > 0 && capture_frame_read(&frame, data, n) == 0) {
                ring->pid = frame.pid > 0 ? frame.pid : ring->pid;
                if (frame.kind == CAPTURE_END)
                        return true;
                data += frame.n_bytes;
                n -= frame.n_bytes;
        }
        return false;
}

/* Whether the ring is at its end. */
static bool read_ring(CaptureControl *control, ControlRing *ring) {
        const size_t n = capture_ring_take(&ring->ring, control->copy, &control->n_nonsense);
        CaptureTaker *taker;

        if (n == 0)
                return false;
        list_for_each (taker, &control->takers, takers)
                give(taker, ring->stream, control->copy, n);
        return look_through(ring, control->copy, n);
}

static bool has_died(const ControlRing *ring) {
        return ring->pid > 0 && kill(ring->pid, 0) < 0 && errno == ESRCH;
}

static void read_rings(CaptureControl *control) {
        const bool reaps = control->n_looks++ % REAP_LOOKS == 0;
        size_t n = 0;

        for (size_t i = 0; i < control->n_rings; i++) {
                ControlRing *ring = &control->rings[i];
                const bool is_dead =
                        reaps && has_died(ring); /* before it is read for the last time */

                if (read_ring(control, ring) || is_dead)
                        capture_ring_deinit(&ring->ring);
                else
                        control->rings[n++] = *ring;
        }
        control->n_rings = n;
}

/* *ret_fd is -1 if there are too many rings. */
static void add_ring(CaptureControl *control, int *ret_fd) {
        ControlRing *ring = &control->rings[control->n_rings];

        *ret_fd = -1;
        if (control->n_rings == CONTROL_RINGS_MAX)
                return;
        *ring = (ControlRing){ .stream = ++control->n_streams };
        if (capture_ring_new(&ring->ring, ret_fd) == 0)
                control->n_rings++;
}

/*
 * Requests, on the thread
 */

/* Sends the ring with a byte that has no meaning. Returns false if the peer does not take it. */
static bool send_ring(int socket, int fd) {
        union {
                struct cmsghdr header;
                char memory[CMSG_SPACE(sizeof(int))];
        } control = {};
        char nothing = 0;
        struct iovec byte = { &nothing, 1 };
        struct msghdr message = { .msg_iov = &byte, .msg_iovlen = 1 };

        if (fd >= 0) {
                message.msg_control = control.memory;
                message.msg_controllen = sizeof(control.memory);
                control.header.cmsg_level = SOL_SOCKET;
                control.header.cmsg_type = SCM_RIGHTS;
                control.header.cmsg_len = CMSG_LEN(sizeof(int));
                memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
        }
        return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

static bool answer_request(CaptureControl *control) {
        _cleanup_(fd_closep) int fd = -1;

        if (memcmp(control->request, REQUEST, REQUEST_BYTES) != 0)
                return false;
        pthread_mutex_lock(&control->lock);
        add_ring(control, &fd);
        pthread_mutex_unlock(&control->lock);
        return send_ring(control->fd, fd);
}

/* Returns false if the connection is over. */
static bool read_requests(CaptureControl *control) {
        for (;;) {
                ssize_t n = recv(control->fd,
                                 control->request + control->n_request,
                                 REQUEST_BYTES - control->n_request,
                                 MSG_DONTWAIT);

                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        return true;
                if (n <= 0)
                        return false;
                control->n_request += (size_t)n;
                if (control->n_request < REQUEST_BYTES)
                        continue;
                control->n_request = 0;
                if (!answer_request(control)) {
                        log_notice("a program does not speak sysprof's protocol; disconnecting");
                        return false;
                }
        }
}

static void *control_run(void *userdata) {
        CaptureControl *control = userdata;
        bool has_rings = false;

        pthread_setname_np(pthread_self(), "sysprof-rings");
        for (;;) {
                struct pollfd fds[] = {
                        { .fd = control->stop_fd, .events = POLLIN },
                        { .fd = control->fd, .events = POLLIN },
                };
                int r = poll(fds, ARRAY_SIZE(fds), has_rings ? CONTROL_PERIOD_MS : -1);

                if (fds[0].revents || (r < 0 && errno != EINTR))
                        return NULL;
                if (fds[1].revents && !read_requests(control))
                        control->fd = fd_close(control->fd);
                pthread_mutex_lock(&control->lock);
                read_rings(control);
                has_rings = control->n_rings > 0;
                pthread_mutex_unlock(&control->lock);
        }
}

int capture_control_new(CaptureControl **ret, int fd) {
        _cleanup_(capture_control_freep) CaptureControl *control = calloc(1, sizeof(*control));
        int r;

        if (!control) {
                fd_close(fd);
                return -ENOMEM;
        }
        control->fd = fd;
        list_init(&control->takers);
        list_append(&control->takers, &control->early.takers);
        pthread_mutex_init(&control->lock, NULL);
        control->stop_fd = eventfd(0, EFD_CLOEXEC);
        if (control->stop_fd < 0)
                return -errno;
        r = thread_start(&control->thread, NULL, control_run, control);
        if (r < 0)
                return r;
        control->has_thread = true;
        *ret = TAKE(control);
        return 0;
}

CaptureControl *capture_control_free(CaptureControl *control) {
        const uint64_t one = 1;

        if (!control)
                return NULL;
        if (control->has_thread && write(control->stop_fd, &one, sizeof(one)) == sizeof(one))
                pthread_join(control->thread, NULL);
        while (control->n_rings > 0)
                capture_ring_deinit(&control->rings[--control->n_rings].ring);
        bytes_deinit(&control->early.pieces);
        pthread_mutex_destroy(&control->lock);
        fd_close(control->stop_fd);
        fd_close(control->fd);
        free(control);
        return NULL;
}

/*
 * Takers
 */

void capture_control_attach(CaptureControl *control, CaptureTaker *taker) {
        *taker = (CaptureTaker){};
        pthread_mutex_lock(&control->lock);
        if (!control->has_begun) {
                taker->pieces = control->early.pieces;
                control->early.pieces = (Bytes){};
                taker->n_lost = control->early.n_lost;
                list_unlink(&control->early.takers);
                control->has_begun = true;
        }
        list_append(&control->takers, &taker->takers);
        pthread_mutex_unlock(&control->lock);
}

void capture_control_detach(CaptureControl *control, CaptureTaker *taker) {
        pthread_mutex_lock(&control->lock);
        list_unlink(&taker->takers);
        pthread_mutex_unlock(&control->lock);
        bytes_deinit(&taker->pieces);
}

void capture_control_take(CaptureControl *control,
                          CaptureTaker *taker,
                          Bytes *ret,
                          uint64_t *ret_n_lost) {
        pthread_mutex_lock(&control->lock);
        read_rings(control);
        *ret = taker->pieces;
        *ret_n_lost = taker->n_lost;
        taker->pieces = (Bytes){};
        taker->n_lost = 0;
        pthread_mutex_unlock(&control->lock);
}
