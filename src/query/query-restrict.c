/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What SQL may do: it may come from a stranger
 */

#include <string.h>

#include "query/query-private.h"

static const char *const allowed_pragmas[] = {
        "table_info",    "table_xinfo", "table_list",
        "function_list", "pragma_list", "compile_options",
};

static const char *const denied_functions[] = { "load_extension",
                                                "fts3_tokenizer",
                                                "readfile",
                                                "writefile",
                                                "edit" };

static bool is_among(const char *name, const char *const *names, size_t n_names) {
        for (size_t i = 0; name && i < n_names; i++)
                if (sqlite3_stricmp(names[i], name) == 0)
                        return true;
        return false;
}

/* The bounds of the trace include all events. */
static int check_function(Query *query, const char *name) {
        if (is_among(name, denied_functions, ARRAY_SIZE(denied_functions)))
                return SQLITE_DENY;
        if (name && sqlite3_strnicmp(name, "trace_", 6) == 0) {
                query->needs |= TRACE_PART_ALL & ~(TRACE_PART_ARGS | TRACE_PART_KERNEL);
                query->sched_needs = UINT32_MAX;
        }
        return SQLITE_OK;
}

static int authorize(void *user_data,
                     int action,
                     const char *first,
                     const char *second,
                     const char *database,
                     const char *trigger) {
        switch (action) {
        case SQLITE_ATTACH:
        case SQLITE_DETACH:
        case SQLITE_CREATE_VTABLE:
        case SQLITE_DROP_VTABLE:
                return SQLITE_DENY;
        case SQLITE_PRAGMA:
                return is_among(first, allowed_pragmas, ARRAY_SIZE(allowed_pragmas)) ? SQLITE_OK
                                                                                     : SQLITE_DENY;
        case SQLITE_FUNCTION:
                return check_function(user_data, second);
        default:
                return SQLITE_OK;
        }
}

int query_restrict(Query *query) {
        static const struct {
                int option, value;
        } options[] = {
                { SQLITE_DBCONFIG_DEFENSIVE, 1 },
                { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
                { SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
                { SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
                { SQLITE_DBCONFIG_DQS_DML, 0 },
                { SQLITE_DBCONFIG_DQS_DDL, 0 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                int r = sqlite3_db_config(query->db, options[i].option, options[i].value, NULL);

                if (r != SQLITE_OK)
                        return r;
        }
        sqlite3_limit(query->db, SQLITE_LIMIT_ATTACHED, 0);
        sqlite3_limit(query->db, SQLITE_LIMIT_LENGTH, QUERY_VALUE_BYTES_MAX);
        return sqlite3_set_authorizer(query->db, authorize, query);
}
