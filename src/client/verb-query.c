/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* desktrace query: SQL over trace files, from the command line, a file or a prompt */

#include <glib/gi18n.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/query-output.h"
#include "client/say.h"
#include "client/time-option.h"
#include "client/trace-files.h"
#include "client/verbs.h"
#include "shared/text.h"

#define TIMEOUT_MS_MAX 86400000
#define LINE_BYTES_MAX (1u << 20)

static char *arg_file, *arg_timeout, *arg_memory;
static gboolean arg_csv;

/* clang-format off */
static const GOptionEntry entries[] = {
        { "file", 0, 0, G_OPTION_ARG_FILENAME, &arg_file, N_("read the SQL from a file"), N_("FILE") },
        { "csv", 0, 0, G_OPTION_ARG_NONE, &arg_csv, N_("print comma-separated values"), NULL },
        { "timeout", 0, 0, G_OPTION_ARG_STRING, &arg_timeout,
          N_("stop a statement that takes longer than TIME"), N_("TIME") },
        { "memory", 0, 0, G_OPTION_ARG_STRING, &arg_memory,
          N_("use at most SIZE of memory for the trace"), N_("SIZE") },
        { 0 },
};
/* clang-format on */

/* Ctrl-C stops a statement at the prompt, but not the prompt. */
static Query *running;

static void interrupt(int signal) {
        if (running)
                query_interrupt(running);
}

static ExitStatus
run_statements(const QueryOutput *output, const TraceFiles *files, Query *query, const char *sql) {
        for (;;) {
                sqlite3_stmt *statement = NULL;
                int r = query_prepare(query, &sql, &statement);

                if (r)
                        return trace_files_report(files, query, r);
                r = query_output_run(output, query, statement);
                if (r == QUERY_E_SQL) {
                        trace_files_report(files, query, r);
                        sqlite3_finalize(statement);
                        return STATUS_USAGE;
                }
                sqlite3_finalize(statement);
                if (r != QUERY_E_DONE)
                        return trace_files_report(files, query, r);
        }
}

/* Collects lines until a statement is complete. */
static ExitStatus run_prompt(const QueryOutput *output, const TraceFiles *files, Query *query) {
        g_autoptr(GString) sql = g_string_new(NULL);
        struct sigaction action = { .sa_handler = interrupt };
        g_autofree char *line = g_malloc(LINE_BYTES_MAX);

        running = query;
        sigaction(SIGINT, &action, NULL);
        for (;;) {
                fputs(sql->len ? "   ...> " : "trace> ", stdout);
                fflush(stdout);
                if (!fgets(line, LINE_BYTES_MAX, stdin))
                        break;
                g_string_append(sql, line);
                if (sql->len > LINE_BYTES_MAX)
                        break;
                if (!sqlite3_complete(sql->str))
                        continue;
                run_statements(output, files, query, sql->str);
                g_string_truncate(sql, 0);
        }
        putchar('\n');
        running = NULL;
        return STATUS_OK;
}

static ExitStatus read_stream(FILE *stream, const char *name, char **ret) {
        g_autoptr(GString) text = g_string_new(NULL);
        char buffer[4096];
        size_t n;

        while ((n = fread(buffer, 1, sizeof(buffer), stream)) > 0 && text->len < LINE_BYTES_MAX)
                g_string_append_len(text, buffer, (gssize)n);
        if (ferror(stream)) {
                say_error(_("cannot read %s: %m"), name);
                return STATUS_FAILED;
        }
        *ret = g_string_free(g_steal_pointer(&text), FALSE);
        return STATUS_OK;
}

static ExitStatus read_sql_file(char **ret) {
        g_autofree char *name = say_clean(arg_file, strlen(arg_file));
        FILE *stream = fopen(arg_file, "re");
        ExitStatus status;

        if (!stream) {
                say_error(_("cannot open %s: %m"), name);
                return STATUS_FAILED;
        }
        status = read_stream(stream, name, ret);
        fclose(stream);
        return status;
}

static ExitStatus parse_options(QueryOptions *options) {
        uint32_t ms;

        if (arg_timeout) {
                ExitStatus status = time_option_parse(&ms, arg_timeout, 1, TIMEOUT_MS_MAX);

                if (status)
                        return status;
                options->timeout_ns = ms * UINT64_C(1000000);
        }
        if (arg_memory && text_parse_size(&options->n_bytes_max, arg_memory)) {
                say_error(_("'%s' is not a size: try 64M or 1GiB"), arg_memory);
                return STATUS_USAGE;
        }
        return STATUS_OK;
}

/* The last argument is SQL, unless it is the only one or SQL comes from elsewhere. */
static size_t count_files(const Invocation *invocation) {
        size_t n = g_strv_length(invocation->arguments);

        return n > 1 && !arg_file ? n - 1 : n;
}

static ExitStatus
run(const Invocation *invocation, const TraceFiles *files, Query *query, const char *sql) {
        const QueryOutput output = {
                .format = invocation->json ? QUERY_FORMAT_JSON
                          : arg_csv        ? QUERY_FORMAT_CSV
                                           : QUERY_FORMAT_TABLE,
                .json = invocation->json,
                .has_legend = invocation->has_legend,
        };
        ExitStatus status = sql ? run_statements(&output, files, query, sql)
                                : run_prompt(&output, files, query);

        fflush(stdout);
        return status ? status : trace_files_check(files, query);
}

/* A semicolon may end the only one. */
static bool has_several(const char *sql) {
        const char *end = strchr(sql, ';');

        return end && end[strspn(end, "; \t\r\n")];
}

static ExitStatus query_files(const Invocation *invocation, size_t n_files) {
        _cleanup_(trace_files_close) TraceFiles files = { 0 };
        _cleanup_(query_freep) Query *query = NULL;
        g_autofree char *text = NULL;
        const char *sql = invocation->arguments[n_files];
        QueryOptions options = { 0 };
        ExitStatus status = parse_options(&options);
        int r;

        if (!status && arg_file)
                status = read_sql_file(&text);
        else if (!status && !sql && !isatty(STDIN_FILENO))
                status = read_stream(stdin, "stdin", &text);
        if (!status)
                status = trace_files_open(&files, invocation->arguments, n_files);
        if (status)
                return status;
        sql = text ? text : sql;
        options.is_interactive = !sql || has_several(sql);
        r = query_new(&query, files.fds, files.n, &options);
        return r ? trace_files_report(&files, query, r) : run(invocation, &files, query, sql);
}

ExitStatus verb_query(Invocation *invocation) {
        ExitStatus status = invocation_parse(invocation, entries);

        if (!status)
                status = invocation_expect(invocation, 1, QUERY_FILES_MAX + 1);
        return status ? status : query_files(invocation, count_files(invocation));
}
