/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Top machine: who uses the CPUs now, as /proc tells it to anybody */

#include "client/top-machine.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers/answer-who.h"
#include "shared/fd.h"
#include "shared/process-unit.h"

#define SMALL_FILE_BYTES_MAX (64u << 10) /* a machine of thousands of CPUs has a long proc/stat */
#define STAT_BYTES_MAX       (1u << 20)

typedef struct Thread {
        uint64_t ran_ns, waited_ns;
        unsigned look; /* the last look that saw it */
} Thread;

typedef struct Row {
        char *who; /* owned; NULL: no unit */
        uint64_t ran_ns, waited_ns;
        unsigned n_threads;
} Row;

/* The sums since the machine was started. */
typedef struct Totals {
        uint64_t busy_ns;
        uint64_t stalled_ns[3]; /* in the order of LOAD_FACT_STALLED_CPU and those after it */
        bool has_stalled[3];
} Totals;

struct TopMachine {
        int root;
        GHashTable *threads; /* tid → Thread, owned */
        unsigned look;
        uint64_t looked_ns;
        uint64_t tick_ns;
        Totals totals;
};

/* The state of one look. */
typedef struct Look {
        TopMachine *machine;
        AnswerGroup group;
        uint64_t span_ns;
        GHashTable *rows; /* who → Row, owned */
        int pid;          /* the process whose threads we are looking at */
        char *who;        /* its owner, once somebody needs it */
        uint64_t ran_ns;  /* of all rows */
} Look;

static void row_free(gpointer data) {
        Row *row = data;

        g_free(row->who);
        g_free(row);
}

TopMachine *top_machine_new(int root) {
        TopMachine *machine = g_new0(TopMachine, 1);
        long n_ticks = sysconf(_SC_CLK_TCK);

        machine->root = root;
        machine->threads = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        machine->tick_ns = UINT64_C(1000000000) / (uint64_t)MAX(n_ticks, 1L);
        return machine;
}

TopMachine *top_machine_free(TopMachine *machine) {
        if (!machine)
                return NULL;
        g_hash_table_unref(machine->threads);
        g_free(machine);
        return NULL;
}

static char *read_text(int directory, const char *path, size_t n_bytes_max) {
        char *text;

        return fd_read_file(&text, NULL, directory, path, n_bytes_max) < 0 ? NULL : text;
}

/*
 * The machine as a whole
 */

/* "cpu  user nice system idle iowait irq softirq steal …", in ticks: everything but waiting, and what others had. */
static bool parse_busy(const char *text, uint64_t tick_ns, uint64_t *ret_ns) {
        uint64_t user, nice, system, idle, iowait, irq, softirq;

        if (!text || sscanf(text,
                            "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                            " %" SCNu64 " %" SCNu64,
                            &user,
                            &nice,
                            &system,
                            &idle,
                            &iowait,
                            &irq,
                            &softirq) != 7)
                return false;
        *ret_ns = (user + nice + system + irq + softirq) * tick_ns;
        return true;
}

/* The lines "cpu0 …" of the CPUs that are online. */
static unsigned count_cpus(const char *text) {
        unsigned n = 0;

        for (const char *line = text; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                n += strncmp(line, "cpu", 3) == 0 && isdigit((unsigned char)line[3]);
        }
        return MAX(n, 1u);
}

static bool read_stalled(int root, const char *path, uint64_t *ret_ns) {
        _cleanup_(freep) char *text = read_text(root, path, SMALL_FILE_BYTES_MAX);
        const char *total = text ? strstr(text, "total=") : NULL;
        uint64_t us;

        if (!total || sscanf(total, "total=%" SCNu64, &us) != 1)
                return false;
        *ret_ns = us * 1000;
        return true;
}

static int read_totals(const TopMachine *machine, Totals *ret, unsigned *ret_n_cpus) {
        static const char *const paths[] = { "proc/pressure/cpu",
                                             "proc/pressure/memory",
                                             "proc/pressure/io" };
        _cleanup_(freep) char *text = read_text(machine->root, "proc/stat", STAT_BYTES_MAX);

        *ret = (Totals){ 0 };
        if (!parse_busy(text, machine->tick_ns, &ret->busy_ns))
                return -EIO;
        *ret_n_cpus = count_cpus(text);
        for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
                ret->has_stalled[i] = read_stalled(machine->root, paths[i], &ret->stalled_ns[i]);
        return 0;
}

/*
 * Threads
 */

/* Ticks of the user and the system are the 14th and 15th field; a name, the 2nd, may have any characters. */
static bool parse_stat(const char *text, uint64_t tick_ns, Thread *ret) {
        const char *at = text ? strrchr(text, ')') : NULL;
        uint64_t user, system;

        if (!at || sscanf(at + 1,
                          " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
                          &user,
                          &system) != 2)
                return false;
        *ret = (Thread){ .ran_ns = (user + system) * tick_ns };
        return true;
}

static bool read_thread(const TopMachine *machine, int tasks, const char *tid, Thread *ret) {
        char path[32];
        _cleanup_(freep) char *text = NULL, *stat = NULL;

        *ret = (Thread){ 0 };
        snprintf(path, sizeof(path), "%.10s/schedstat", tid);
        text = read_text(tasks, path, SMALL_FILE_BYTES_MAX);
        if (text && sscanf(text, "%" SCNu64 " %" SCNu64, &ret->ran_ns, &ret->waited_ns) == 2)
                return true;
        snprintf(path, sizeof(path), "%.10s/stat", tid);
        stat = read_text(tasks, path, SMALL_FILE_BYTES_MAX);
        return parse_stat(stat, machine->tick_ns, ret);
}

/* What has been added since the previous look. If a thread has less than before, it is another thread with the same
 * number. */
static Thread thread_update(Look *look, int tid, Thread now) {
        TopMachine *machine = look->machine;
        Thread *before = g_hash_table_lookup(machine->threads, GINT_TO_POINTER(tid));
        Thread added = now;

        now.look = machine->look;
        if (!before) {
                if (g_hash_table_size(machine->threads) < TOP_THREADS_MAX)
                        g_hash_table_insert(machine->threads,
                                            GINT_TO_POINTER(tid),
                                            g_memdup2(&now, sizeof(now)));
                else
                        return (Thread){ 0 };
        } else {
                if (now.ran_ns >= before->ran_ns && now.waited_ns >= before->waited_ns) {
                        added.ran_ns -= before->ran_ns;
                        added.waited_ns -= before->waited_ns;
                }
                *before = now;
        }
        added.ran_ns = MIN(added.ran_ns, look->span_ns);
        added.waited_ns = MIN(added.waited_ns, look->span_ns);
        return added;
}

static char *read_name(int directory, const char *path) {
        _cleanup_(freep) char *text = read_text(directory, path, SMALL_FILE_BYTES_MAX);

        return text ? g_strndup(text, strcspn(text, "\n")) : NULL;
}

/* The same as answer_who_unit() finds in a recording: an app, or else a unit of the user's manager, or else one of
 * the machine's. */
static char *read_unit(const Look *look) {
        char path[64];
        _cleanup_(freep) char *text = NULL;
        ProcessUnit unit;
        const PathPart *part;

        snprintf(path, sizeof(path), "proc/%d/cgroup", look->pid);
        text = read_text(look->machine->root, path, SMALL_FILE_BYTES_MAX);
        if (!text || !process_unit_parse(&unit, text))
                return NULL;
        if (*unit.app_id)
                return g_strdup(unit.app_id);
        part = unit.user_unit.n ? &unit.user_unit : &unit.unit;
        return part->n ? g_strndup(part->text, part->n) : NULL;
}

static char *who_is(Look *look, int tasks, const char *tid) {
        char path[64];
        g_autofree char *name = NULL;

        switch (look->group) {
        case ANSWER_BY_THREAD:
                snprintf(path, sizeof(path), "%.10s/comm", tid);
                name = read_name(tasks, path);
                return g_strdup_printf("%s%s%s", name ? name : "", name && *name ? " " : "", tid);
        case ANSWER_BY_UNIT:
                if (!look->who)
                        look->who = read_unit(look);
                return g_strdup(look->who);
        default:
                snprintf(path, sizeof(path), "proc/%d/comm", look->pid);
                if (!look->who)
                        look->who = read_name(look->machine->root, path);
                return g_strdup(look->who ? look->who : tid);
        }
}

static void add_to_row(Look *look, char *who, const Thread *added) {
        Row *row = g_hash_table_lookup(look->rows, who ? who : "");

        if (!row) {
                row = g_new0(Row, 1);
                row->who = g_strdup(who);
                g_hash_table_insert(look->rows, g_strdup(who ? who : ""), row);
        }
        row->ran_ns += added->ran_ns;
        row->waited_ns += added->waited_ns;
        row->n_threads++;
        look->ran_ns += added->ran_ns;
}

static void look_at_thread(Look *look, int tasks, const char *tid) {
        Thread now, added;

        if (!read_thread(look->machine, tasks, tid, &now))
                return;
        added = thread_update(look, atoi(tid), now);
        if (look->machine->look > 1 && added.ran_ns + added.waited_ns > 0) {
                g_autofree char *who = who_is(look, tasks, tid);

                add_to_row(look, who, &added);
        }
}

/* Visits each entry of a directory that is a number. */
static int
for_each_number(Look *look, int at, const char *path, void (*visit)(Look *, int, const char *)) {
        int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct dirent *entry;
        DIR *directory;

        if (fd < 0)
                return -errno;
        directory = fdopendir(fd);
        if (!directory) {
                fd_close(fd);
                return -ENOMEM;
        }
        while ((entry = readdir(directory)))
                if (isdigit((unsigned char)*entry->d_name))
                        visit(look, dirfd(directory), entry->d_name);
        closedir(directory);
        return 0;
}

/* Processes come and go meanwhile. One that has gone has no threads. */
static void look_at_process(Look *look, int processes, const char *pid) {
        char path[32];

        snprintf(path, sizeof(path), "%.10s/task", pid);
        look->pid = atoi(pid);
        for_each_number(look, processes, path, look_at_thread);
        g_clear_pointer(&look->who, g_free);
}

static gboolean is_gone(gpointer tid, gpointer thread, gpointer machine) {
        return ((const Thread *)thread)->look != ((const TopMachine *)machine)->look;
}

/*
 * The answer
 */

static gint compare_rows(gconstpointer a, gconstpointer b) {
        const Row *x = *(const Row *const *)a, *y = *(const Row *const *)b;

        if (x->ran_ns != y->ran_ns)
                return x->ran_ns > y->ran_ns ? -1 : 1;
        if (x->waited_ns != y->waited_ns)
                return x->waited_ns > y->waited_ns ? -1 : 1;
        return g_strcmp0(x->who, y->who);
}

static void put_row(Answer *answer, const Row *row) {
        AnswerValue *cells = answer_add_row(answer);

        if (!cells)
                return;
        if (row->who)
                answer_set_text(answer, &cells[LOAD_COLUMN_WHO], row->who);
        else
                answer_set_word(&cells[LOAD_COLUMN_WHO], answer_who_no_unit);
        answer_set(&cells[LOAD_COLUMN_NS], (int64_t)row->ran_ns);
        answer_set(&cells[LOAD_COLUMN_WAITED], (int64_t)row->waited_ns);
        answer_set(&cells[LOAD_COLUMN_THREADS], row->n_threads);
}

static void put_rows(Answer *answer, const Look *look) {
        g_autoptr(GPtrArray) rows = g_ptr_array_new();
        GHashTableIter iter;
        gpointer row;

        g_hash_table_iter_init(&iter, look->rows);
        while (g_hash_table_iter_next(&iter, NULL, &row))
                g_ptr_array_add(rows, row);
        g_ptr_array_sort(rows, compare_rows);
        for (guint i = 0; i < rows->len; i++)
                put_row(answer, g_ptr_array_index(rows, i));
}

/* The machine's own sum is in ticks, and may have less than its threads. These are read one after the other, so what
 * they ran may be a little more than there was time for. */
static void put_facts(Answer *answer, const Look *look, const Totals *now, unsigned n_cpus) {
        const Totals *before = &look->machine->totals;
        uint64_t busy_ns = now->busy_ns > before->busy_ns ? now->busy_ns - before->busy_ns : 0;
        int64_t all_ns = (int64_t)(look->span_ns * n_cpus);

        busy_ns = MAX(busy_ns, look->ran_ns);
        answer_set(&answer->facts[LOAD_FACT_BUSY], (int64_t)busy_ns);
        answer_set(&answer->facts[LOAD_FACT_ALL], all_ns);
        answer_set_share(&answer->facts[LOAD_FACT_SHARE], MIN((int64_t)busy_ns, all_ns), all_ns);
        answer_set(&answer->facts[LOAD_FACT_CPUS], n_cpus);
        answer_set(&answer->facts[LOAD_FACT_OTHERS], (int64_t)(busy_ns - look->ran_ns));
        for (size_t i = 0; i < ARRAY_SIZE(now->has_stalled); i++)
                if (now->has_stalled[i] && before->has_stalled[i])
                        answer_set(&answer->facts[LOAD_FACT_STALLED_CPU + i],
                                   (int64_t)MIN(now->stalled_ns[i] - before->stalled_ns[i],
                                                look->span_ns));
}

static int look_answer(const Look *look, Answer **ret) {
        _cleanup_(answer_freep) Answer *answer = NULL;
        unsigned n_cpus;
        Totals now;
        int r = read_totals(look->machine, &now, &n_cpus) ?: answer_new(&answer, &answer_load, 0);

        if (r)
                return r;
        put_rows(answer, look);
        put_facts(answer, look, &now, n_cpus);
        look->machine->totals = now;
        if (answer->has_no_memory)
                return -ENOMEM;
        *ret = TAKE(answer);
        return 0;
}

int top_machine_look(TopMachine *machine, uint64_t now_ns, AnswerGroup group, Answer **ret) {
        Look look = { .machine = machine,
                      .group = group,
                      .span_ns = machine->look ? now_ns - machine->looked_ns : 0,
                      .rows = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, row_free) };
        int r;

        machine->look++;
        machine->looked_ns = now_ns;
        r = for_each_number(&look, machine->root, "proc", look_at_process);
        if (r == 0) {
                g_hash_table_foreach_remove(machine->threads, is_gone, machine);
                r = look_answer(&look, ret);
        }
        g_hash_table_unref(look.rows);
        return r;
}
