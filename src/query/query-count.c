/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Counting the rows of a table without going through them
 */

#include <ctype.h>
#include <string.h>

#include "query/query-private.h"
#include "query/query-tables.h"

static void skip_spaces(const char **at) {
        while (isspace((unsigned char)**at))
                (*at)++;
}

/* Takes a word or sign, and blanks after it. */
static bool take(const char **at, const char *word) {
        size_t n = strlen(word);

        if (sqlite3_strnicmp(*at, word, (int)n) != 0)
                return false;
        *at += n;
        skip_spaces(at);
        return true;
}

static bool is_end(const char *at) {
        return at[strspn(at, "; \t\r\n")] == '\0';
}

/* Ids are numbered from 0, so the last one tells how many there are. */
char *query_shorten_count(const char *sql) {
        const char *at = sql, *name, *table;
        size_t n_name, n_table;

        if (!take(&at, "SELECT "))
                return NULL;
        name = at;
        if (!take(&at, "count") || !take(&at, "(") || !take(&at, "*") || *at != ')')
                return NULL;
        n_name = (size_t)(++at - name);
        skip_spaces(&at);
        if (!take(&at, "FROM "))
                return NULL;
        table = at;
        n_table = strcspn(table, "; \t\r\n");
        if (!query_table_find(table, n_table) || !is_end(table + n_table))
                return NULL;
        return sqlite3_mprintf(
                "SELECT ifnull((SELECT rowid + 1 FROM %.*s ORDER BY rowid DESC LIMIT 1), 0) "
                "AS \"%.*w\"",
                (int)n_table,
                table,
                (int)n_name,
                name);
}
