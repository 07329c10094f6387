/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A thread pool: an arrow from where each task is submitted to where it runs, how long the queue is, and which
 * worker has what in hand.
 *
 *      pool-desktrace [--seconds N]
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <desktrace/track-event.h>

DT_CATEGORY(pool, "pool", "Tasks, from their submission to their end");

#define N_WORKERS 3
#define QUEUE_MAX 64

typedef struct Task {
        uint64_t number;
        uint64_t submitted_ns;
        unsigned us; /* what it has to do */
} Task;

static const dt_track queue_depth = DT_COUNTER_TRACK("queue depth", "tasks");

static struct {
        pthread_mutex_t lock;
        pthread_cond_t more;
        Task tasks[QUEUE_MAX];
        unsigned first, n_tasks;
        bool over;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER };

static uint64_t now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Returns false when the queue is full. */
static bool submit(uint64_t number, unsigned us) {
        bool fits;

        DT_SLICE(pool, "submit", DT_UINT("task", number), DT_FLOW(dt_flow_id(number)));
        pthread_mutex_lock(&queue.lock);
        fits = queue.n_tasks < QUEUE_MAX;
        if (fits) {
                queue.tasks[(queue.first + queue.n_tasks++) % QUEUE_MAX] =
                        (Task){ number, now_ns(), us };
                /* Under the lock, so that its values are in order. */
                DT_COUNTER_ON(pool, &queue_depth, queue.n_tasks);
        }
        pthread_cond_signal(&queue.more);
        pthread_mutex_unlock(&queue.lock);
        return fits;
}

/* Returns false when there is nothing more to do. */
static bool take(Task *ret) {
        bool is_task;

        pthread_mutex_lock(&queue.lock);
        while (queue.n_tasks == 0 && !queue.over)
                pthread_cond_wait(&queue.more, &queue.lock);
        is_task = queue.n_tasks > 0;
        if (is_task) {
                *ret = queue.tasks[queue.first];
                queue.first = (queue.first + 1) % QUEUE_MAX;
                queue.n_tasks--; /* not in the macro: there it happens only while somebody records */
                DT_COUNTER_ON(pool, &queue_depth, queue.n_tasks);
        }
        pthread_mutex_unlock(&queue.lock);
        return is_task;
}

static void run(const Task *task) {
        DT_SLICE(pool,
                 "run",
                 DT_UINT("task", task->number),
                 DT_UINT("waited us", (now_ns() - task->submitted_ns) / 1000),
                 DT_FLOW_END(dt_flow_id(task->number)));
        for (unsigned step = 0; step < 2; step++) {
                DT_SLICE(pool, step == 0 ? "read" : "compute");
                for (uint64_t end = now_ns() + task->us * 500; now_ns() < end;)
                        ;
        }
}

static void *work(void *name) {
        dt_track state = DT_TRACK(name, 0); /* a row of what this worker is doing */
        Task task;

        dt_thread_set_name(name);
        DT_STATE(pool, &state, "idle");
        while (take(&task)) {
                DT_STATE(pool, &state, "busy");
                run(&task);
                DT_STATE(pool, &state, "idle");
        }
        DT_STATE(pool, &state, "");
        return NULL;
}

int main(int argc, char **argv) {
        static char names[N_WORKERS][16] = { "worker 1", "worker 2", "worker 3" };
        const struct timespec pause = { .tv_nsec = 3000000 };
        pthread_t workers[N_WORKERS];
        uint64_t number = 0, end_ns;
        double seconds = 5;

        if (argc == 3 && strcmp(argv[1], "--seconds") == 0)
                seconds = atof(argv[2]);
        dt_init(NULL);
        dt_thread_set_name("submitter");
        for (unsigned i = 0; i < N_WORKERS; i++)
                if (pthread_create(&workers[i], NULL, work, names[i]) != 0)
                        return EXIT_FAILURE;
        end_ns = now_ns() + (uint64_t)(seconds * 1e9);
        while (now_ns() < end_ns) {
                DT_SLICE(pool, "batch");
                for (unsigned i = 1; i <= 4; i++)
                        if (!submit(++number, 100 * i))
                                DT_INSTANT(pool, "queue is full", DT_UINT("task", number));
                nanosleep(&pause, NULL);
        }
        pthread_mutex_lock(&queue.lock);
        queue.over = true;
        pthread_cond_broadcast(&queue.more);
        pthread_mutex_unlock(&queue.lock);
        for (unsigned i = 0; i < N_WORKERS; i++)
                pthread_join(workers[i], NULL);
        return EXIT_SUCCESS;
}
