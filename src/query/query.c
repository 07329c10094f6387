/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Query: SQL over a trace */

#include "query/query.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "query/query-private.h"
#include "shared/monotonic.h"
#include "trace/trace-import.h"

#define BYTES_PER_FILE_BYTE 64
#define BYTES_MIN           (UINT64_C(256) << 20)
#define STEPS_PER_LOOK      100000 /* of SQLite's machine, between looks at the clock */

/* Threads and processes are always read, so that ids are the same from one statement to the next. */
#define PARTS_OF_IDS (TRACE_PART_THREADS | TRACE_PART_EVENTS)

static bool query_stops(void *user_data) {
        const Query *query = user_data;

        return query->is_interrupted || (query->deadline_ns && monotonic_ns() > query->deadline_ns);
}

static int query_progress(void *user_data) {
        return query_stops(user_data);
}

/* The limit for a trace of this size: more than any needs, and less than the machine has. */
static uint64_t bytes_max(const Query *query) {
        long n_pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
        uint64_t n_bytes = 0, half;
        struct stat st;

        if (query->options.n_bytes_max)
                return query->options.n_bytes_max;
        for (size_t i = 0; i < query->n_fds; i++)
                if (fstat(query->fds[i], &st) == 0 && st.st_size > 0)
                        n_bytes += (uint64_t)st.st_size;
        n_bytes = n_bytes * BYTES_PER_FILE_BYTE + BYTES_MIN;
        half = n_pages > 0 && page > 0 ? (uint64_t)n_pages * (uint64_t)page / 2 : n_bytes;
        return MIN(n_bytes, half);
}

/* Reads what is not there yet. If several statements will come, no column is left out, so as not to read again. */
static int query_read(Query *query, unsigned parts, uint32_t sched_left_out) {
        TraceImportOptions options = { .parts = parts,
                                       .sched_left_out =
                                               query->options.is_interactive ? 0 : sched_left_out,
                                       .n_bytes_max = bytes_max(query),
                                       .stops = query_stops,
                                       .user_data = query };
        TraceStore *store;
        int r;

        if (query->is_loaded && (parts & ~query->loaded) == 0 &&
            (query->sched_left_out & ~sched_left_out) == 0)
                return 0;
        options.parts |= query->loaded;
        if (query->options.is_interactive)
                options.parts |= PARTS_OF_IDS;
        for (size_t i = 0; i < query->n_fds; i++)
                if (lseek(query->fds[i], 0, SEEK_SET) < 0)
                        return -errno;
        r = trace_import_files(&store, query->fds, query->n_fds, &options);
        if (r == -EBADMSG)
                return QUERY_E_NO_TRACE;
        if (r == -ECANCELED)
                return QUERY_E_TIMED_OUT;
        if (r)
                return r;
        query_forget_rows(query);
        trace_store_free(query->store);
        query->store = store;
        query->loaded = options.parts;
        query->sched_left_out = options.sched_left_out;
        query->is_loaded = true;
        return store->budget.is_over ? QUERY_E_MEMORY : 0;
}

int query_load(Query *query, unsigned parts) {
        return query_read(query, parts, 0);
}

const TraceStore *query_store(const Query *query) {
        return query->store;
}

static int query_open(Query *query) {
        int r = sqlite3_open_v2(":memory:",
                                &query->db,
                                SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY |
                                        SQLITE_OPEN_NOMUTEX,
                                NULL);

        if (r == SQLITE_OK)
                r = sqlite3_exec(query->db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
        if (r == SQLITE_OK)
                r = query_add_tables(query);
        if (r == SQLITE_OK)
                r = query_add_slice_stats(query);
        if (r == SQLITE_OK)
                r = query_add_functions(query);
        if (r == SQLITE_OK)
                r = query_add_views(query);
        if (r == SQLITE_OK)
                r = query_restrict(query);
        sqlite3_hard_heap_limit64((sqlite3_int64)QUERY_HEAP_BYTES_MAX);
        sqlite3_progress_handler(query->db, STEPS_PER_LOOK, query_progress, query);
        return r == SQLITE_OK ? 0 : -ENOMEM;
}

int query_new(Query **ret, const int *fds, size_t n_fds, const QueryOptions *options) {
        _cleanup_(query_freep) Query *query = NULL;
        int r;

        if (n_fds > QUERY_FILES_MAX)
                return -E2BIG;
        query = calloc(1, sizeof(*query));
        if (!query)
                return -ENOMEM;
        query->options = *options;
        query->n_fds = n_fds;
        memcpy(query->fds, fds, n_fds * sizeof(*fds));
        r = trace_store_new(&query->store, 0);
        if (r == 0)
                r = query_open(query);
        if (r)
                return r;
        *ret = TAKE(query);
        return 0;
}

Query *query_free(Query *query) {
        if (!query)
                return NULL;

        sqlite3_close(query->db);
        query_forget_rows(query);
        trace_store_free(query->store);
        free(query);
        return NULL;
}

const char *query_error(const Query *query) {
        return query->problem ? query->problem : sqlite3_errmsg(query->db);
}

void query_interrupt(Query *query) {
        query->is_interrupted = true;
        sqlite3_interrupt(query->db);
}

static int query_outcome(Query *query, int r) {
        switch (r) {
        case SQLITE_OK:
        case SQLITE_ROW:
                return 0;
        case SQLITE_DONE:
                return QUERY_E_DONE;
        case SQLITE_NOMEM:
        case SQLITE_FULL:
        case SQLITE_TOOBIG:
                return QUERY_E_MEMORY;
        case SQLITE_INTERRUPT:
                return QUERY_E_TIMED_OUT;
        default:
                return QUERY_E_SQL;
        }
}

/*
 * Statements that only Perfetto has
 */

/* Skips blanks and comments. */
static const char *skip_blanks(const char *text) {
        for (;;) {
                while (isspace((unsigned char)*text) || *text == ';')
                        text++;
                if (text[0] == '-' && text[1] == '-') {
                        text += strcspn(text, "\n");
                } else if (text[0] == '/' && text[1] == '*') {
                        const char *end = strstr(text + 2, "*/");

                        if (!end)
                                return text;
                        text = end + 2;
                } else {
                        return text;
                }
        }
}

static bool take_word(const char **text, const char *word) {
        size_t n = strlen(word);

        if (sqlite3_strnicmp(*text, word, (int)n) != 0 || !isspace((unsigned char)(*text)[n]))
                return false;
        *text = skip_blanks(*text + n);
        return true;
}

/* Handles statements that only Perfetto's trace processor has. 0: there is nothing to do for it. QUERY_E_DONE: it is
 * another statement. */
static int query_take_perfetto(Query *query, const char **sql) {
        const char *at = *sql, *module;
        size_t n;

        if (take_word(&at, "CREATE")) {
                if (take_word(&at, "OR"))
                        take_word(&at, "REPLACE");
                if (!take_word(&at, "PERFETTO"))
                        return QUERY_E_DONE;
                query->problem =
                        N_("CREATE PERFETTO is a statement of Perfetto's trace processor only; "
                           "use CREATE TABLE or CREATE VIEW");
                return QUERY_E_SQL;
        }
        if (!take_word(&at, "INCLUDE") || !take_word(&at, "PERFETTO") || !take_word(&at, "MODULE"))
                return QUERY_E_DONE;
        module = at;
        n = strcspn(module, "; \t\r\n");
        if (!query_has_module(module, n)) {
                query->problem = N_("this module of Perfetto's standard library is not provided; "
                                    "desktrace(1) lists those that are");
                return QUERY_E_SQL;
        }
        *sql = skip_blanks(module + n);
        return 0;
}

static int query_compile(Query *query, const char *sql, sqlite3_stmt **ret, const char **ret_rest) {
        char *shorter = query->options.is_interactive ? NULL : query_shorten_count(sql);
        int r;

        query->needs = 0;
        query->sched_needs = 0;
        r = sqlite3_prepare_v3(query->db, shorter ? shorter : sql, -1, 0, ret, ret_rest);
        if (shorter)
                *ret_rest = sql + strlen(sql);
        sqlite3_free(shorter);
        return r;
}

/* Compiling a statement tells what it needs; the number of rows, and so the best plan, is known only after that has
 * been read. */
int query_prepare(Query *query, const char **sql, sqlite3_stmt **ret) {
        const char *rest;
        int r;

        query->problem = NULL;
        query->is_interrupted = false;
        *sql = skip_blanks(*sql);
        while ((r = query_take_perfetto(query, sql)) == 0)
                ;
        if (r == QUERY_E_SQL)
                return r;
        if (!**sql)
                return QUERY_E_DONE;
        query->deadline_ns =
                query->options.timeout_ns ? monotonic_ns() + query->options.timeout_ns : 0;
        r = query_compile(query, *sql, ret, &rest);
        if (r != SQLITE_OK)
                return query_outcome(query, r);
        if (query->needs & ~query->loaded || query->sched_needs & query->sched_left_out ||
            !query->is_loaded) {
                sqlite3_finalize(TAKE(*ret));
                r = query_read(query, query->needs, ~query->sched_needs);
                if (r)
                        return r;
                r = query_compile(query, *sql, ret, &rest);
                if (r != SQLITE_OK)
                        return query_outcome(query, r);
        }
        *sql = rest;
        return *ret ? 0 : QUERY_E_DONE;
}

int query_step(Query *query, sqlite3_stmt *statement) {
        return query_outcome(query, sqlite3_step(statement));
}
