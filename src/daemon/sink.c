/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Two halves share one lock. The loop's half (Output) is freed by close(). The thread's half (SinkWorker) is reference
 * counted, because a thread that hangs in a write cannot be waited for: it finds out that it is abandoned
 * when the write returns, and frees the rest itself.
 *
 * The descriptor belongs to somebody else, too, so O_NONBLOCK is not ours to set. A pipe or socket is polled
 * first, together with the eventfd that abandons the thread, and is given at most PIPE_BUF bytes at a time, which
 * then do not block.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "shared/fd.h"
#include "shared/list.h"
#include "shared/log.h"
#include "sink.h"
#include "wire/wire-reader.h"

#define SINK_STACK_BYTES (64u << 10)
#define TRACE_PACKET     1 /* field of perfetto.protos.Trace */

typedef struct SinkWorker {
        pthread_mutex_t lock;
        pthread_cond_t wake; /* the thread waits here for work */

        /* Under the lock. */
        Bytes batches[SINK_BATCHES_MAX];
        size_t first, n_batches;
        size_t n_bytes; /* queued or being written */
        bool is_finishing, is_abandoned, is_done;
        int error;
        uint64_t n_written;
        unsigned n_references;

        List link; /* sink_workers, under its own lock */

        /* Never change. */
        uid_t uid;
        int fd;
        int progress; /* eventfd: the thread has something to tell */
        int abandon;  /* eventfd: stops the thread's poll() */
        bool is_regular;
} SinkWorker;

struct Output {
        SinkWorker *worker;
        sd_event_source *source;
        OutputChanged changed;
        void *userdata;
};

/* All there are, to count each user's. */
static List sink_workers = LIST_INIT(sink_workers);
static pthread_mutex_t sink_workers_lock = PTHREAD_MUTEX_INITIALIZER;

void sink_ignore_signals(void) {
        signal(SIGPIPE, SIG_IGN);
        signal(SIGXFSZ, SIG_IGN);
}

/* Whether the user may have one more, which it then is. */
static bool sink_worker_add(SinkWorker *worker) {
        const SinkWorker *at;
        size_t n = 0;

        pthread_mutex_lock(&sink_workers_lock);
        list_for_each (at, &sink_workers, link)
                n += at->uid == worker->uid;
        if (n < SINK_WORKERS_PER_UID_MAX)
                list_append(&sink_workers, &worker->link);
        pthread_mutex_unlock(&sink_workers_lock);
        return n < SINK_WORKERS_PER_UID_MAX;
}

static void sink_worker_remove(SinkWorker *worker) {
        pthread_mutex_lock(&sink_workers_lock);
        list_unlink(&worker->link);
        pthread_mutex_unlock(&sink_workers_lock);
}

static SinkWorker *sink_worker_free(SinkWorker *worker) {
        for (size_t i = 0; i < SINK_BATCHES_MAX; i++)
                bytes_deinit(&worker->batches[i]);
        pthread_mutex_destroy(&worker->lock);
        pthread_cond_destroy(&worker->wake);
        fd_close(worker->fd);
        fd_close(worker->progress);
        fd_close(worker->abandon);
        sink_worker_remove(worker); /* after close(), which may hang, too */
        free(worker);
        return NULL;
}

static void sink_worker_unref(SinkWorker *worker) {
        bool is_last;

        pthread_mutex_lock(&worker->lock);
        is_last = --worker->n_references == 0;
        pthread_mutex_unlock(&worker->lock);
        if (is_last)
                sink_worker_free(worker);
}

/* Waits until a pipe or socket takes something. */
static int sink_wait(SinkWorker *worker) {
        struct pollfd fds[] = {
                { .fd = worker->fd, .events = POLLOUT },
                { .fd = worker->abandon, .events = POLLIN },
        };

        while (poll(fds, ARRAY_SIZE(fds), -1) < 0)
                if (errno != EINTR)
                        return -errno;
        return fds[1].revents ? -ECANCELED : 0;
}

/* *ret_written tells how far it came, also on failure. */
static int sink_write(SinkWorker *worker, const uint8_t *data, size_t n, size_t *ret_written) {
        *ret_written = 0;
        while (n > 0) {
                ssize_t n_written;
                int r;

                r = worker->is_regular ? 0 : sink_wait(worker);
                if (r < 0)
                        return r;
                n_written =
                        write(worker->fd, data, worker->is_regular ? n : MIN(n, (size_t)PIPE_BUF));
                if (n_written < 0 && (errno == EINTR || errno == EAGAIN))
                        continue;
                if (n_written < 0)
                        return -errno;
                data += n_written;
                n -= (size_t)n_written;
                *ret_written += (size_t)n_written;
        }
        return 0;
}

/* How much of the first n bytes of a batch is whole packets, in trace file framing. */
static size_t whole_packets(const uint8_t *data, size_t n) {
        const uint8_t *end = data;
        WireReader reader;
        WireField field;

        wire_reader_init(&reader, data, n);
        while (wire_read(&reader, &field) > 0 && field.number == TRACE_PACKET &&
               field.type == WIRE_BYTES)
                end = field.raw + field.n_raw;
        return (size_t)(end - data);
}

/* Takes back a packet of which only a part could be written. */
static void sink_cut_back(SinkWorker *worker, off_t end) {
        struct stat st;

        if (!worker->is_regular || end < 0 || fstat(worker->fd, &st) < 0 || st.st_size <= end)
                return;
        if (ftruncate(worker->fd, end) < 0)
                log_debug("cannot cut the output back: %s", strerror(errno));
}

/* Where this batch will begin; with O_APPEND that is the file's end. */
static off_t sink_batch_start(SinkWorker *worker) {
        const int flags = fcntl(worker->fd, F_GETFL);

        return lseek(worker->fd, 0, flags >= 0 && (flags & O_APPEND) ? SEEK_END : SEEK_CUR);
}

/* *ret_written: bytes of whole packets, which stay also when the rest could not be written. */
static int sink_write_batch(SinkWorker *worker, const Bytes *batch, size_t *ret_written) {
        const off_t start = worker->is_regular ? sink_batch_start(worker) : -1;
        int r;

        r = sink_write(worker, batch->data, batch->n, ret_written);
        if (r < 0) {
                *ret_written = whole_packets(batch->data, *ret_written);
                if (start >= 0)
                        sink_cut_back(worker, start + (off_t)*ret_written);
        }
        return r;
}

static void sink_tell(SinkWorker *worker) {
        const uint64_t one = 1;

        if (write(worker->progress, &one, sizeof(one)) < 0)
                log_debug("cannot ring for an output: %s", strerror(errno));
}

/* The next batch, or false when there is nothing more to do. Called and returns with the lock held. */
static bool sink_next_batch(SinkWorker *worker, Bytes *ret) {
        while (worker->n_batches == 0 && !worker->is_finishing && !worker->is_abandoned &&
               worker->error == 0)
                pthread_cond_wait(&worker->wake, &worker->lock);
        if (worker->n_batches == 0 || worker->is_abandoned || worker->error < 0)
                return false;
        *ret = worker->batches[worker->first];
        worker->batches[worker->first] = (Bytes){};
        worker->first = (worker->first + 1) % SINK_BATCHES_MAX;
        worker->n_batches--;
        return true;
}

static void *sink_run(void *userdata) {
        SinkWorker *worker = userdata;
        Bytes batch = {};

        pthread_mutex_lock(&worker->lock);
        while (sink_next_batch(worker, &batch)) {
                size_t n_written;
                int r;

                pthread_mutex_unlock(&worker->lock);
                r = sink_write_batch(worker, &batch, &n_written);
                pthread_mutex_lock(&worker->lock);
                worker->n_bytes -= batch.n;
                if (r < 0)
                        worker->error = r;
                worker->n_written += n_written;
                bytes_deinit(&batch);
                sink_tell(worker);
        }
        worker->is_done = true;
        sink_tell(worker);
        pthread_mutex_unlock(&worker->lock);
        sink_worker_unref(worker);
        return NULL;
}

static const char *sink_why_unusable(int fd, struct stat *ret_stat) {
        const int flags = fcntl(fd, F_GETFL);

        if (flags < 0)
                return "it is not an open descriptor";
        if (flags & O_PATH)
                return "it was opened with O_PATH; open it for writing";
        if ((flags & O_ACCMODE) == O_RDONLY)
                return "it is open for reading only; open it for writing";
        if (fstat(fd, ret_stat) < 0)
                return "it cannot be examined";
        switch (ret_stat->st_mode & S_IFMT) {
        case S_IFREG:
        case S_IFIFO:
        case S_IFSOCK:
        case S_IFCHR:
                return NULL;
        default:
                return "it is neither a file, a pipe, a socket nor a character device";
        }
}

static int sink_worker_new(SinkWorker **ret, uid_t uid, bool is_regular) {
        SinkWorker *worker;

        worker = calloc(1, sizeof(*worker));
        if (!worker)
                return -ENOMEM;
        pthread_mutex_init(&worker->lock, NULL);
        pthread_cond_init(&worker->wake, NULL);
        list_init(&worker->link);
        worker->uid = uid;
        worker->is_regular = is_regular;
        worker->fd = -1;
        worker->n_references = 1;
        worker->progress = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        worker->abandon = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (worker->progress < 0 || worker->abandon < 0) {
                sink_worker_free(worker);
                return -EMFILE;
        }
        if (!sink_worker_add(worker)) {
                sink_worker_free(worker);
                return OUTPUT_E_LIMIT;
        }
        *ret = worker;
        return 0;
}

/* Signals are the main thread's business. */
static int sink_start_thread(SinkWorker *worker) {
        sigset_t all, before;
        pthread_attr_t attributes;
        pthread_t thread;
        int r;

        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, SINK_STACK_BYTES);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        worker->n_references++;
        r = pthread_create(&thread, &attributes, sink_run, worker);
        if (r)
                worker->n_references--;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
        return -r;
}

static int on_progress(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Output *output = userdata;
        uint64_t n;

        if (read(fd, &n, sizeof(n)) > 0)
                output->changed(output->userdata);
        return 0;
}

static Output *sink_close(Output *output) {
        const uint64_t one = 1;

        if (!output)
                return NULL;
        sd_event_source_disable_unref(output->source);
        pthread_mutex_lock(&output->worker->lock);
        output->worker->is_abandoned = true;
        pthread_cond_signal(&output->worker->wake);
        pthread_mutex_unlock(&output->worker->lock);
        if (write(output->worker->abandon, &one, sizeof(one)) < 0)
                log_debug("cannot abandon an output: %s", strerror(errno));
        sink_worker_unref(output->worker);
        free(output);
        return NULL;
}

static int sink_open(Output **ret,
                     void *host,
                     uid_t uid,
                     int fd,
                     OutputChanged changed,
                     void *userdata,
                     const char **ret_why) {
        SinkWorker *worker;
        Output *output;
        struct stat st;
        int r;

        *ret_why = sink_why_unusable(fd, &st);
        if (*ret_why)
                return OUTPUT_E_UNUSABLE;
        r = sink_worker_new(&worker, uid, S_ISREG(st.st_mode));
        if (r)
                return r;
        output = calloc(1, sizeof(*output));
        if (!output) {
                sink_worker_unref(worker);
                return -ENOMEM;
        }
        *output = (Output){ .worker = worker, .changed = changed, .userdata = userdata };
        r = sd_event_add_io(host, &output->source, worker->progress, EPOLLIN, on_progress, output);
        if (r >= 0) {
                worker->fd = fd;
                r = sink_start_thread(worker);
        }
        if (r < 0) {
                worker->fd = -1;
                sink_close(output);
                return r;
        }
        *ret = output;
        return 0;
}

static size_t sink_room(Output *output) {
        SinkWorker *worker = output->worker;
        size_t room = 0;

        pthread_mutex_lock(&worker->lock);
        if (worker->n_batches < SINK_BATCHES_MAX && worker->n_bytes < SINK_QUEUE_BYTES_MAX)
                room = SINK_QUEUE_BYTES_MAX - worker->n_bytes;
        pthread_mutex_unlock(&worker->lock);
        return room;
}

static int sink_push(Output *output, Bytes *bytes) {
        SinkWorker *worker = output->worker;
        int r;

        pthread_mutex_lock(&worker->lock);
        r = worker->error;
        if (r == 0 && worker->n_batches == SINK_BATCHES_MAX)
                r = -ENOBUFS;
        if (r == 0) {
                worker->batches[(worker->first + worker->n_batches++) % SINK_BATCHES_MAX] = *bytes;
                worker->n_bytes += bytes->n;
                *bytes = (Bytes){};
                pthread_cond_signal(&worker->wake);
        }
        pthread_mutex_unlock(&worker->lock);
        return r;
}

static void sink_finish(Output *output) {
        pthread_mutex_lock(&output->worker->lock);
        output->worker->is_finishing = true;
        pthread_cond_signal(&output->worker->wake);
        pthread_mutex_unlock(&output->worker->lock);
}

static bool sink_is_done(Output *output) {
        bool is_done;

        pthread_mutex_lock(&output->worker->lock);
        is_done = output->worker->is_done;
        pthread_mutex_unlock(&output->worker->lock);
        return is_done;
}

static int sink_error(Output *output) {
        int r;

        pthread_mutex_lock(&output->worker->lock);
        r = output->worker->error;
        pthread_mutex_unlock(&output->worker->lock);
        return r;
}

static uint64_t sink_n_written(Output *output) {
        uint64_t n;

        pthread_mutex_lock(&output->worker->lock);
        n = output->worker->n_written;
        pthread_mutex_unlock(&output->worker->lock);
        return n;
}

const OutputOps sink_output_ops = {
        .open = sink_open,
        .room = sink_room,
        .push = sink_push,
        .finish = sink_finish,
        .is_done = sink_is_done,
        .error = sink_error,
        .n_written = sink_n_written,
        .close = sink_close,
};
