/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * An output has two halves that share a lock. The loop's half (Output) is freed by close(). The thread's half
 * (SinkWorker) is reference counted, because nobody can wait for a thread that hangs in a write: the thread finds out
 * that it was abandoned when the write returns, and then frees the rest.
 *
 * Memory of batches circulates between them: the loop fills it, the thread writes it out and hands it back.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "shared/fd.h"
#include "shared/list.h"
#include "shared/log.h"
#include "shared/thread.h"
#include "sink-descriptor.h"
#include "sink-file.h"
#include "sink-kept.h"
#include "sink.h"

#define SINK_STACK_BYTES (256u << 10) /* the codecs want some */

typedef struct SinkBatch {
        Bytes bytes;
        bool is_end;
} SinkBatch;

typedef struct SinkWorker SinkWorker;

/* Everything written up to a batch is copied into another output as well: that output waits for it, and this one is
 * referenced meanwhile. */
typedef struct SinkCopy {
        List link; /* the original's copies */
        SinkWorker *to;
        uint64_t n_batches; /* of the original, that come before */
} SinkCopy;

struct SinkWorker {
        pthread_mutex_t lock;
        pthread_cond_t wake; /* the thread waits here for work */

        /* Under the lock. */
        SinkBatch batches[SINK_BATCHES_MAX];
        size_t first, n_batches;
        size_t n_bytes; /* queued or being written */
        Bytes spares[SINK_SPARES_MAX];
        size_t n_spares;
        bool is_finishing, is_abandoned, is_done;
        bool is_full, has_end; /* the second follows the first, always */
        int error;
        uint64_t n_written;
        unsigned n_references;
        uint64_t n_pushed, n_put; /* batches, ever */
        uint64_t n_packets, said; /* that were read for them, and what they say */
        uint64_t n_lost;          /* of the process before */
        Outbox outbox;            /* for one that is kept */
        int kept_fd;              /* the file once more, for the store; or -1 */
        List copies;              /* SinkCopy: of this one */

        /* For an output that begins with a copy. */
        bool awaits_copy; /* until it is known how much that is */
        int copy_fd;      /* -1: nothing is to be copied */
        off_t copy_offset;
        uint64_t copy_bytes;

        List link; /* sink_workers, under its own lock */

        SinkFile file; /* the thread's */

        /* Never change. */
        uid_t user;
        int progress; /* eventfd: the thread has something to tell */
};

struct Output {
        SinkWorker *worker;
        sd_event_source *source;
        OutputChanged changed;
        void *userdata;
};

/* All workers, to count those of each user. */
static List sink_workers = LIST_INIT(sink_workers);
static pthread_mutex_t sink_workers_lock = PTHREAD_MUTEX_INITIALIZER;

void sink_ignore_signals(void) {
        signal(SIGPIPE, SIG_IGN);
        signal(SIGXFSZ, SIG_IGN);
}

/* Whether the user may have one more worker, which is then counted. */
static bool sink_worker_add(SinkWorker *worker) {
        const SinkWorker *at;
        size_t n = 0;

        pthread_mutex_lock(&sink_workers_lock);
        list_for_each (at, &sink_workers, link)
                n += at->user == worker->user;
        if (n < SINK_WORKERS_PER_USER_MAX)
                list_append(&sink_workers, &worker->link);
        pthread_mutex_unlock(&sink_workers_lock);
        return n < SINK_WORKERS_PER_USER_MAX;
}

static void sink_worker_remove(SinkWorker *worker) {
        pthread_mutex_lock(&sink_workers_lock);
        list_unlink(&worker->link);
        pthread_mutex_unlock(&sink_workers_lock);
}

void sinks_wait(unsigned ms) {
        for (; ms > 0 && sinks_have_threads(); ms--)
                usleep(1000);
}

bool sinks_have_threads(void) {
        bool has_threads;

        pthread_mutex_lock(&sink_workers_lock);
        has_threads = !list_is_empty(&sink_workers);
        pthread_mutex_unlock(&sink_workers_lock);
        return has_threads;
}

static SinkWorker *sink_worker_free(SinkWorker *worker) {
        for (size_t i = 0; i < SINK_BATCHES_MAX; i++)
                bytes_deinit(&worker->batches[i].bytes);
        for (size_t i = 0; i < worker->n_spares; i++)
                bytes_deinit(&worker->spares[i]);
        pthread_mutex_destroy(&worker->lock);
        pthread_cond_destroy(&worker->wake);
        sink_file_deinit(&worker->file);
        outbox_deinit(&worker->outbox);
        fd_close(worker->kept_fd);
        fd_close(worker->copy_fd);
        fd_close(worker->progress);
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

static void sink_tell(SinkWorker *worker) {
        const uint64_t one = 1;

        if (write(worker->progress, &one, sizeof(one)) < 0)
                log_debug("cannot ring for an output: %s", strerror(errno));
}

static bool sink_is_over(const SinkWorker *worker) {
        return worker->is_abandoned || worker->error < 0;
}

/* An output that became full with the last batch learns how the trace ends. */
static bool sink_awaits_batch(const SinkWorker *worker) {
        return !worker->is_finishing || (worker->is_full && !worker->has_end);
}

/*
 * Copies: locks are taken in the order original, copy
 */

/* Everything before the copy's end is written, or nothing ever will be. Called with the original's lock held. */
static void sink_copy_settle(const SinkWorker *from, SinkCopy *copy) {
        SinkWorker *to = copy->to;

        list_unlink(&copy->link);
        free(copy);
        pthread_mutex_lock(&to->lock);
        to->awaits_copy = false;
        to->copy_offset = from->file.began_at;
        to->copy_bytes = from->n_written;
        pthread_cond_signal(&to->wake);
        pthread_mutex_unlock(&to->lock);
        sink_worker_unref(to);
}

static void sink_settle_copies(const SinkWorker *from) {
        SinkCopy *copy;

        list_for_each (copy, &from->copies, link)
                if (from->n_put >= copy->n_batches || from->is_done)
                        sink_copy_settle(from, copy);
}

/* What precedes the first batch. Called and returns with the lock held. */
static void sink_copy_first(SinkWorker *worker) {
        int r = 0;

        while (worker->copy_fd >= 0 && worker->copy_bytes > 0 && r == 0 && !sink_is_over(worker)) {
                pthread_mutex_unlock(&worker->lock);
                r = sink_file_copy(
                        &worker->file, worker->copy_fd, &worker->copy_offset, &worker->copy_bytes);
                pthread_mutex_lock(&worker->lock);
                worker->n_written = worker->file.n_written;
                sink_tell(worker);
        }
        if (r < 0 && worker->error == 0)
                worker->error = r;
        worker->copy_bytes = 0;
}

/* Done by the thread, as this may hang, too. Called and returns with the lock held. */
static void sink_close_copy(SinkWorker *worker) {
        const int fd = TAKE_FD(worker->copy_fd);

        if (fd < 0)
                return;
        pthread_mutex_unlock(&worker->lock);
        fd_close(fd);
        pthread_mutex_lock(&worker->lock);
}

/* Whether the thread has nothing to do for now. */
static bool sink_idles(const SinkWorker *worker) {
        if (sink_is_over(worker))
                return false;
        if (worker->awaits_copy)
                return true;
        return worker->copy_bytes == 0 && worker->n_batches == 0 && sink_awaits_batch(worker);
}

/* Takes the next batch. false: no more will come. Called and returns with the lock held. */
static bool sink_next_batch(SinkWorker *worker, SinkBatch *ret, bool *ret_is_last) {
        do {
                while (sink_idles(worker))
                        pthread_cond_wait(&worker->wake, &worker->lock);
                sink_copy_first(worker);
                sink_close_copy(worker);
        } while (sink_idles(worker));
        if (worker->n_batches == 0 || sink_is_over(worker))
                return false;
        *ret = worker->batches[worker->first];
        worker->batches[worker->first] = (SinkBatch){};
        worker->first = (worker->first + 1) % SINK_BATCHES_MAX;
        *ret_is_last = --worker->n_batches == 0;
        return true;
}

static void sink_keep_spare(SinkWorker *worker, Bytes *bytes) {
        if (outbox_has(&worker->outbox, bytes->data)) {
                outbox_give_back(&worker->outbox, bytes->data);
                *bytes = (Bytes){};
                return;
        }
        if (worker->n_spares == SINK_SPARES_MAX) {
                bytes_deinit(bytes);
                return;
        }
        bytes_clear(bytes);
        worker->spares[worker->n_spares++] = *bytes;
}

/* Begins the work on a file that outlives the service. Returns with the lock held. */
static void sink_begin(SinkWorker *worker) {
        bool may_be_kept = false;
        int r = 0;

        if (worker->outbox.head) {
                r = sink_file_resume(&worker->file);
                may_be_kept = r == 0 && sink_may_be_kept(worker->file.fd);
        }
        pthread_mutex_lock(&worker->lock);
        if (may_be_kept)
                worker->kept_fd = fcntl(worker->file.fd, F_DUPFD_CLOEXEC, 3);
        if (r < 0 && worker->error == 0)
                worker->error = r;
        if (worker->outbox.head)
                sink_tell(worker);
}

static void *sink_run(void *userdata) {
        SinkWorker *worker = userdata;
        SinkBatch batch = {};
        bool is_last;
        int r;

        sink_begin(worker);
        while (sink_next_batch(worker, &batch, &is_last)) {
                pthread_mutex_unlock(&worker->lock);
                r = sink_file_put(&worker->file, &batch.bytes, batch.is_end);
                if (r == 0 && is_last)
                        r = sink_file_sync(&worker->file);
                pthread_mutex_lock(&worker->lock);
                worker->n_bytes -= batch.bytes.n;
                if (r < 0 && worker->error == 0)
                        worker->error = r;
                worker->is_full = worker->file.is_full;
                worker->n_written = worker->file.n_written;
                worker->n_put++;
                if (r == 0 && worker->outbox.head)
                        outbox_put(&worker->outbox, worker->n_written, worker->is_full);
                sink_settle_copies(worker);
                sink_keep_spare(worker, &batch.bytes);
                sink_tell(worker);
        }
        pthread_mutex_unlock(&worker->lock);
        r = sink_file_close(&worker->file);
        pthread_mutex_lock(&worker->lock);
        if (r < 0 && worker->error == 0)
                worker->error = r;
        worker->is_done = true;
        sink_close_copy(worker);
        sink_settle_copies(worker);
        sink_tell(worker);
        pthread_mutex_unlock(&worker->lock);
        sink_worker_unref(worker);
        return NULL;
}

/* Batches that lay elsewhere are gone. */
static void sink_find_batches(SinkWorker *worker) {
        for (size_t i = 0; i < outbox_n_batches(&worker->outbox); i++) {
                const OutboxBatch batch = outbox_batch(&worker->outbox, i);

                if (!batch.data)
                        worker->n_lost +=
                                batch.n_packets - MIN(batch.n_packets_before, batch.n_packets);
                worker->batches[worker->n_batches++] = (SinkBatch){
                        .bytes = { .data = (uint8_t *)batch.data,
                                   .n = batch.data ? batch.n_bytes : 0,
                                   .n_allocated = batch.data ? OUTBOX_LENT_BYTES : 0 },
                        .is_end = batch.is_end,
                };
                worker->n_bytes += worker->batches[i].bytes.n;
        }
        worker->n_packets = outbox_n_packets(&worker->outbox);
        worker->said = outbox_said(&worker->outbox);
        worker->has_end = outbox_has_end(&worker->outbox);
        worker->n_written = outbox_written(&worker->outbox, &worker->is_full);
}

/* Without memory for it the output goes on without being kept. */
static int sink_worker_keep(SinkWorker *worker, const OutputOptions *options) {
        int r;

        if (!options->outbox) {
                if (options->is_kept && outbox_new(&worker->outbox) < 0)
                        log_debug("an output would not survive the service: there is no memory");
        } else {
                r = outbox_find(&worker->outbox, *options->outbox);
                if (r < 0)
                        return r;
                *options->outbox = -1;
                sink_find_batches(worker);
        }
        worker->file.outbox = worker->outbox.head ? &worker->outbox : NULL;
        return 0;
}

static int sink_worker_new(SinkWorker **ret, const OutputOptions *options, bool is_regular) {
        SinkWorker *worker;
        int r;

        worker = calloc(1, sizeof(*worker));
        if (!worker)
                return -ENOMEM;
        pthread_mutex_init(&worker->lock, NULL);
        pthread_cond_init(&worker->wake, NULL);
        list_init(&worker->link);
        list_init(&worker->copies);
        worker->copy_fd = worker->kept_fd = -1;
        worker->outbox = (Outbox)OUTBOX_INIT;
        worker->user = options->user;
        worker->n_references = 1;
        worker->progress = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        r = sink_file_init(&worker->file, options, is_regular);
        worker->file.abandon = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (r == 0 && (worker->progress < 0 || worker->file.abandon < 0))
                r = -EMFILE;
        if (r == 0 && !sink_worker_add(worker))
                r = OUTPUT_E_LIMIT;
        if (r == 0)
                r = sink_worker_keep(worker, options);
        if (r) {
                sink_worker_free(worker);
                return r;
        }
        *ret = worker;
        return 0;
}

static int sink_start_thread(SinkWorker *worker) {
        pthread_attr_t attributes;
        pthread_t thread;
        int r;

        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, SINK_STACK_BYTES);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        worker->n_references++;
        r = thread_start(&thread, &attributes, sink_run, worker);
        if (r)
                worker->n_references--;
        pthread_attr_destroy(&attributes);
        return r;
}

static int on_progress(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Output *output = userdata;
        uint64_t n;

        if (read(fd, &n, sizeof(n)) > 0)
                output->changed(output->userdata);
        return 0;
}

/* If the thread hangs in a write, it ends when the write returns. */
static void sink_abandon(SinkWorker *worker) {
        const uint64_t one = 1;

        pthread_mutex_lock(&worker->lock);
        worker->is_abandoned = true;
        pthread_cond_signal(&worker->wake);
        pthread_mutex_unlock(&worker->lock);
        if (write(worker->file.abandon, &one, sizeof(one)) < 0)
                log_debug("cannot abandon an output: %s", strerror(errno));
}

static Output *sink_close(Output *output) {
        if (!output)
                return NULL;
        sd_event_source_disable_unref(output->source);
        sink_abandon(output->worker);
        sink_worker_unref(output->worker);
        free(output);
        return NULL;
}

static void sink_give_up(Output *output, int error) {
        SinkWorker *worker = output->worker;

        pthread_mutex_lock(&worker->lock);
        if (worker->error == 0)
                worker->error = error;
        worker->is_done = true;
        pthread_mutex_unlock(&worker->lock);
        sink_abandon(worker);
}

static int sink_open(Output **ret,
                     void *host,
                     int fd,
                     const OutputOptions *options,
                     OutputChanged changed,
                     void *userdata,
                     const char **ret_why) {
        SinkWorker *worker;
        Output *output;
        bool is_regular;
        int r;

        *ret_why = sink_why_unusable(fd, &is_regular);
        if (*ret_why)
                return OUTPUT_E_UNUSABLE;
        r = sink_worker_new(&worker, options, is_regular);
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
                worker->file.fd = fd;
                r = sink_start_thread(worker);
        }
        if (r < 0) {
                worker->file.fd = -1;
                sink_close(output);
                return r;
        }
        *ret = output;
        return 0;
}

/* The batch that is being written is in there as well. */
static bool sink_outbox_is_full(const SinkWorker *worker) {
        return worker->outbox.head && outbox_n_batches(&worker->outbox) >= OUTBOX_BATCHES_MAX - 1;
}

static size_t sink_room(Output *output) {
        SinkWorker *worker = output->worker;
        size_t room = 0;

        pthread_mutex_lock(&worker->lock);
        if (worker->n_batches < SINK_BATCHES_MAX && worker->n_bytes < SINK_QUEUE_BYTES_MAX &&
            !sink_outbox_is_full(worker))
                room = SINK_QUEUE_BYTES_MAX - worker->n_bytes;
        pthread_mutex_unlock(&worker->lock);
        return room;
}

static void sink_borrow(Output *output, Bytes *ret) {
        SinkWorker *worker = output->worker;

        *ret = (Bytes){};
        pthread_mutex_lock(&worker->lock);
        if (worker->outbox.head)
                ret->data = outbox_borrow(&worker->outbox);
        if (ret->data) {
                ret->n_allocated = OUTBOX_LENT_BYTES;
        } else if (worker->n_spares > 0) {
                *ret = worker->spares[--worker->n_spares];
        }
        pthread_mutex_unlock(&worker->lock);
}

/* What was not read into a cell is small, or a packet that is larger than one. */
static void sink_push_kept(SinkWorker *worker, Bytes *bytes, bool is_end) {
        uint8_t *cell = NULL;

        if (!outbox_has(&worker->outbox, bytes->data) && bytes->n <= OUTBOX_LENT_BYTES)
                cell = outbox_borrow(&worker->outbox);
        if (cell) {
                memcpy(cell, bytes->data, bytes->n);
                free(bytes->data);
                bytes->data = cell;
                bytes->n_allocated = OUTBOX_LENT_BYTES;
        }
        outbox_push(&worker->outbox,
                    &(OutboxBatch){ .data = bytes->data,
                                    .n_bytes = bytes->n,
                                    .is_end = is_end,
                                    .n_packets = worker->n_packets,
                                    .said = worker->said });
}

static int sink_push(Output *output, Bytes *bytes, bool is_end) {
        SinkWorker *worker = output->worker;
        int r;

        pthread_mutex_lock(&worker->lock);
        r = worker->error;
        if (r == 0 && (worker->n_batches == SINK_BATCHES_MAX || sink_outbox_is_full(worker)))
                r = -ENOBUFS;
        if (r == 0 && worker->outbox.head)
                sink_push_kept(worker, bytes, is_end);
        if (r == 0) {
                worker->batches[(worker->first + worker->n_batches++) % SINK_BATCHES_MAX] =
                        (SinkBatch){ .bytes = *bytes, .is_end = is_end };
                worker->n_bytes += bytes->n;
                worker->n_pushed++;
                worker->has_end |= is_end;
                *bytes = (Bytes){};
                pthread_cond_signal(&worker->wake);
        }
        pthread_mutex_unlock(&worker->lock);
        return r;
}

/* A descriptor for reading what this output writes; -1: that is not possible. Called with the lock held, as the
 * thread does not close the file while it has work. Only for an output of the same user: the user who opened the
 * file can make reading it hang. */
static int sink_readable(const SinkWorker *worker, uid_t user) {
        if (worker->user != user || worker->is_finishing || worker->is_done ||
            sink_is_over(worker) || !worker->file.is_regular ||
            (fcntl(worker->file.fd, F_GETFL) & O_ACCMODE) != O_RDWR)
                return -1;
        return fcntl(worker->file.fd, F_DUPFD_CLOEXEC, 0);
}

static void sink_copy(Output *output, Output *original) {
        SinkWorker *to = output->worker, *from = original->worker;
        SinkCopy *copy = calloc(1, sizeof(*copy));

        if (!copy)
                return; /* then it begins where the file ends */
        pthread_mutex_lock(&from->lock);
        pthread_mutex_lock(&to->lock);
        if (!to->is_done && !sink_is_over(to))
                to->copy_fd = sink_readable(from, to->user);
        to->awaits_copy = to->copy_fd >= 0;
        to->n_references += to->awaits_copy;
        pthread_mutex_unlock(&to->lock);
        if (to->awaits_copy) {
                *copy = (SinkCopy){ .to = to, .n_batches = from->n_pushed };
                list_append(&from->copies, &copy->link);
                sink_settle_copies(from);
        } else {
                free(copy);
        }
        pthread_mutex_unlock(&from->lock);
}

static void sink_finish(Output *output) {
        pthread_mutex_lock(&output->worker->lock);
        output->worker->is_finishing = true;
        pthread_cond_signal(&output->worker->wake);
        pthread_mutex_unlock(&output->worker->lock);
}

/* What the thread has reported, read under the lock. */
#define SINK_GETTER(Type, name, member)              \
        static Type name(Output *output) {           \
                SinkWorker *worker = output->worker; \
                Type value;                          \
                                                     \
                pthread_mutex_lock(&worker->lock);   \
                value = worker->member;              \
                pthread_mutex_unlock(&worker->lock); \
                return value;                        \
        }

SINK_GETTER(bool, sink_is_full, is_full)
SINK_GETTER(bool, sink_is_done, is_done)
SINK_GETTER(int, sink_error, error)
SINK_GETTER(uint64_t, sink_n_written, n_written)
SINK_GETTER(bool, sink_has_end, has_end)
SINK_GETTER(uint64_t, sink_n_packets, n_packets)
SINK_GETTER(uint64_t, sink_said, said)
SINK_GETTER(uint64_t, sink_n_lost, n_lost)

static void sink_note_read(Output *output, uint64_t n_packets, uint64_t said) {
        pthread_mutex_lock(&output->worker->lock);
        output->worker->n_packets = n_packets;
        output->worker->said = said;
        pthread_mutex_unlock(&output->worker->lock);
}

static bool sink_files(Output *output, int *ret_fd, int *ret_outbox) {
        SinkWorker *worker = output->worker;

        pthread_mutex_lock(&worker->lock);
        *ret_fd = TAKE_FD(worker->kept_fd);
        pthread_mutex_unlock(&worker->lock);
        *ret_outbox = worker->outbox.fd;
        return *ret_fd >= 0;
}

static uint64_t sink_n_moved(Output *output) {
        return output->worker->file.n_moved;
}

const OutputOps sink_output_ops = {
        .codecs = 1 << CODEC_DEFLATE | 1 << CODEC_ZSTD,
        .open = sink_open,
        .room = sink_room,
        .borrow = sink_borrow,
        .push = sink_push,
        .note_read = sink_note_read,
        .n_packets = sink_n_packets,
        .said = sink_said,
        .files = sink_files,
        .has_end = sink_has_end,
        .n_lost = sink_n_lost,
        .copy = sink_copy,
        .is_full = sink_is_full,
        .finish = sink_finish,
        .is_done = sink_is_done,
        .error = sink_error,
        .n_written = sink_n_written,
        .n_moved = sink_n_moved,
        .give_up = sink_give_up,
        .close = sink_close,
};
