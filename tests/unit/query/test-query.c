/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* SQL over a trace: what it finds, what it may not do, and where it ends. */

#include <sqlite3.h>

#include "query/query.h"
#include "trace/trace-packets.h"
#include "trace/trace-store.h"

typedef struct World {
        Query *query;
        int fd;
} World;

/* A hundred slices, "even" and "odd" in turn; each odd one is inside an even one. */
static TraceBuilder *builder_usual(void) {
        TraceBuilder *builder = trace_builder_new();

        trace_clock(builder);
        trace_sequence_start(builder, 3, 77, 5);
        trace_thread_track(builder, 3, 5, 77, 78, "painter");
        for (uint64_t i = 0; i < 50; i++) {
                trace_track_event(builder, 3, 2000 + 100 * i, 1, 0);
                trace_track_event(builder, 3, 2010 + 100 * i, 1, 0);
                trace_track_event(builder, 3, 2020 + 100 * i + i, 2, 0);
                trace_track_event(builder, 3, 2080 + 100 * i, 2, 0);
        }
        trace_track_event(builder, 3, 9000, 1, 0); /* which never ends */
        trace_compact_sched(builder, 0, 2000, 78, "painter", 500, false);
        return builder;
}

static void world_init(World *world, const QueryOptions *options) {
        TraceBuilder *builder = builder_usual();

        world->fd = trace_builder_fd(builder, SIZE_MAX);
        ck_assert_int_eq(query_new(&world->query, &world->fd, 1, options), 0);
        free(builder);
}

static void world_deinit(World *world) {
        query_free(world->query);
        close(world->fd);
}

/* The outcome of all its rows; the first value of the first one in *ret. */
static int ask(const World *world, const char *sql, int64_t *ret) {
        sqlite3_stmt *statement = NULL;
        int r = query_prepare(world->query, &sql, &statement);

        *ret = INT64_MIN;
        if (r == 0) {
                r = query_step(world->query, statement);
                if (r == 0 && sqlite3_column_type(statement, 0) != SQLITE_NULL)
                        *ret = sqlite3_column_int64(statement, 0);
                while (r == 0)
                        r = query_step(world->query, statement);
        }
        sqlite3_finalize(statement);
        return r;
}

static void check_says(const World *world, int64_t wanted, const char *sql) {
        int64_t value;
        int r = ask(world, sql, &value);

        ck_assert_msg(
                r == QUERY_E_DONE && value == wanted, "%s: %d, %lld", sql, r, (long long)value);
}

static void check_fails(const World *world, int outcome, const char *sql) {
        int64_t value;
        int r = ask(world, sql, &value);

        ck_assert_msg(r == outcome, "%s: %d", sql, r);
}

START_TEST(test_indexes_find_what_a_scan_finds) {
        static const char *const conditions[] = {
                "id = 7",
                "id = 7.0",
                "id = 7.5",
                "id = -1",
                "id = 1000000",
                "id IS NULL",
                "ts >= 2500",
                "ts > 2500",
                "ts < 2500.5",
                "ts > NULL",
                "ts = 2500",
                "name = 'draw'",
                "name = 'DRAW'",
                "name = ''",
                "name = NULL",
                "name IS NULL",
                "name = 5",
                "depth = 1",
                "depth = 1.0",
                "depth = -1",
                "parent_id = 0",
                "depth = 1e300",
                "parent_id = -1",
                "ts >= 1e300",
                "ts < -1e300",
                "track_id = 0",
                "id IN (1, 2)",
                "depth IN (0)",
                "name IN ('draw')",
                "ts BETWEEN 2100 AND 2200",
                "parent_id IS NULL",
                "ts >= 9223372036854775807",
                "ts <= -9223372036854775807",
                "dur = -1",
        };
        _cleanup_(world_deinit) World world;

        world_init(&world, &(QueryOptions){ 0 });
        /* The plus before the column keeps SQLite from passing the condition to the table. */
        for (size_t i = 0; i < ARRAY_SIZE(conditions); i++) {
                char sql[512];

                snprintf(sql,
                         sizeof(sql),
                         "SELECT (SELECT count(*) FROM slice WHERE %s) - "
                         "(SELECT count(*) FROM slice WHERE +%s)",
                         conditions[i],
                         conditions[i]);
                check_says(&world, 0, sql);
        }
}
END_TEST

START_TEST(test_columns_compare_by_their_types) {
        _cleanup_(world_deinit) World world;

        world_init(&world, &(QueryOptions){ 0 });
        check_says(&world, 1, "SELECT count(*) FROM slice WHERE id = '7'");
        check_says(&world, 50, "SELECT count(*) FROM slice WHERE depth = '1'");
        check_says(&world, 101, "SELECT count(*) FROM slice WHERE ts < 'x'");
        check_says(&world, 0, "SELECT count(*) FROM slice WHERE ts > NULL");
        check_says(
                &world, 101, "SELECT count(*) FROM slice WHERE name = 'draw' AND category = 'ui'");
}
END_TEST

START_TEST(test_joins_and_orders_are_right) {
        _cleanup_(world_deinit) World world;

        world_init(&world, &(QueryOptions){ 0 });
        check_says(&world,
                   50,
                   "SELECT count(*) FROM slice c JOIN slice p ON p.id = c.parent_id WHERE p.depth "
                   "= 0");
        check_says(&world, 101, "SELECT count(*) FROM thread_slice WHERE thread_name = 'painter'");
        check_says(&world, 9000, "SELECT ts FROM slice ORDER BY ts DESC");
        check_says(&world, 2000, "SELECT ts FROM slice ORDER BY ts");
        check_says(&world, 2, "SELECT count(*) FROM (SELECT DISTINCT depth FROM slice)");
        check_says(&world, 51, "SELECT count(*) FROM slice GROUP BY depth ORDER BY depth");
}
END_TEST

START_TEST(test_slice_stats_is_what_grouping_gives) {
        _cleanup_(world_deinit) World world;

        world_init(&world, &(QueryOptions){ 0 });
        check_says(&world, 1, "SELECT count(*) FROM slice_stats");
        check_says(&world, 101, "SELECT n FROM slice_stats WHERE name = 'draw'");
        check_says(&world, 1, "SELECT n_open FROM slice_stats");
        check_says(&world,
                   1,
                   "SELECT s.total_dur = sum(dur) AND s.min_dur = min(dur) AND s.max_dur = "
                   "max(dur) AND "
                   "s.p50 = percentile(dur, 50) AND s.p90 = percentile(dur, 90) AND "
                   "s.p99 = percentile(dur, 99) FROM slice, slice_stats s WHERE dur >= 0");
        check_says(&world, 1, "SELECT self_dur = 50 * 80 FROM slice_stats");
        check_says(&world, 0, "SELECT count(*) FROM slice_stats WHERE name = 'x'");
}
END_TEST

START_TEST(test_percentiles_of_odd_things) {
        _cleanup_(world_deinit) World world;

        world_init(&world, &(QueryOptions){ 0 });
        check_says(&world, INT64_MIN, "SELECT percentile(dur, 99) FROM slice WHERE id < 0");
        check_says(&world, INT64_MIN, "SELECT percentile('x', 99) FROM slice");
        check_says(&world, 80, "SELECT percentile(dur, 100) FROM slice");
        check_fails(&world, QUERY_E_SQL, "SELECT percentile(dur, 101) FROM slice");
        check_fails(&world, QUERY_E_SQL, "SELECT percentile(dur, -1) FROM slice");
}
END_TEST

START_TEST(test_sql_of_others_is_harmless) {
        static const char *const denied[] = {
                "ATTACH '/tmp/x.db' AS x",    "DETACH main",
                "SELECT load_extension('x')", "CREATE VIRTUAL TABLE x USING fts5(y)",
                "PRAGMA writable_schema = 1", "PRAGMA temp_store_directory = '/tmp'",
                "VACUUM INTO '/tmp/x.db'",    "INSERT INTO slice (id) VALUES (1)",
                "DELETE FROM slice",          "UPDATE slice SET dur = 0",
                "DROP TABLE slice",           "SELECT readfile('/etc/passwd')",
        };
        _cleanup_(world_deinit) World world;

        world_init(&world, &(QueryOptions){ 0 });
        for (size_t i = 0; i < ARRAY_SIZE(denied); i++)
                check_fails(&world, QUERY_E_SQL, denied[i]);
        check_says(&world, 101, "SELECT count(*) FROM slice");
}
END_TEST

START_TEST(test_what_takes_too_long_is_stopped) {
        _cleanup_(world_deinit) World world;

        world_init(&world, &(QueryOptions){ .timeout_ns = 50000000 });
        check_fails(&world,
                    QUERY_E_TIMED_OUT,
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) "
                    "FROM n");
        /* The next statement has its own time. */
        check_says(&world, 1, "SELECT 1");
}
END_TEST

START_TEST(test_reading_the_trace_counts_for_the_time) {
        _cleanup_(world_deinit) World world;

        world_init(&world, &(QueryOptions){ .timeout_ns = 1 });
        check_fails(&world, QUERY_E_TIMED_OUT, "SELECT count(*) FROM slice");
        ck_assert_uint_eq(query_store(world.query)->tables[TRACE_TABLE_SLICE].n, 0);
}
END_TEST

START_TEST(test_memory_has_an_end) {
        _cleanup_(world_deinit) World world;

        world_init(&world, &(QueryOptions){ .n_bytes_max = 2000 });
        check_fails(&world, QUERY_E_MEMORY, "SELECT count(*) FROM slice");
        check_fails(&world, QUERY_E_MEMORY, "SELECT length(zeroblob(1000000000))");
}
END_TEST

START_TEST(test_a_table_more_is_read_when_it_is_asked_for) {
        _cleanup_(world_deinit) World world;

        world_init(&world, &(QueryOptions){ 0 });
        check_says(&world, 101, "SELECT count(*) FROM slice");
        ck_assert_uint_eq(query_store(world.query)->tables[TRACE_TABLE_SCHED].n, 0);
        check_says(&world, 1, "SELECT count(*) FROM sched");
        check_says(&world, 101, "SELECT n FROM slice_stats");
}
END_TEST

/* By the last row, or by going through all of them where a plus hides that. */
START_TEST(test_rows_are_counted) {
        _cleanup_(world_deinit) World world;

        world_init(&world, &(QueryOptions){ 0 });
        check_says(&world, 101, "SELECT count(*) FROM slice");
        check_says(&world, 101, "select COUNT ( * ) from SLICE ;");
        check_says(&world, 101, "SELECT +count(*) FROM slice");
        check_says(&world, 0, "SELECT count(*) FROM flow");
        check_says(&world, 51, "SELECT count(*) FROM slice WHERE depth = 0");
        check_says(&world, 100, "SELECT id FROM slice ORDER BY id DESC");
        check_says(&world, 9, "SELECT id FROM slice WHERE id < 10 ORDER BY id DESC");
        check_says(&world, 0, "SELECT min(n) FROM (SELECT id AS n FROM slice ORDER BY id DESC)");
        check_fails(&world, QUERY_E_SQL, "SELECT count(*) FROM slices_of_bread");
        check_fails(&world, QUERY_E_SQL, "SELECT count(*) FROM slice nonsense nonsense");
}
END_TEST

static bool has_column(const World *world, unsigned column) {
        return query_store(world->query)->tables[TRACE_TABLE_SCHED].columns[column];
}

START_TEST(test_columns_that_nobody_asks_for_are_not_read) {
        _cleanup_(world_deinit) World world, other;

        world_init(&world, &(QueryOptions){ 0 });
        check_says(&world, 1, "SELECT count(*) FROM sched");
        ck_assert(!has_column(&world, SCHED_TS) && !has_column(&world, SCHED_UTID));
        check_says(&world, 2500, "SELECT ts FROM sched");
        ck_assert(has_column(&world, SCHED_TS) && !has_column(&world, SCHED_DUR));
        check_says(&world, 1, "SELECT 1 FROM sched WHERE cpu = 0 AND end_state IS NULL");
        check_says(&world, 2499, "SELECT ts_end FROM sched ORDER BY utid");
        check_says(&world, 9000, "SELECT trace_end() FROM sched WHERE dur = -1 AND ts = 2500");
        check_says(&world, 1, "SELECT count(*) FROM sched");
        ck_assert_int_eq(query_load(world.query, TRACE_PART_SCHED), 0);
        ck_assert(has_column(&world, SCHED_PRIORITY));

        world_init(&other, &(QueryOptions){ .is_interactive = true });
        check_says(&other, 1, "SELECT count(*) FROM sched");
        ck_assert(has_column(&other, SCHED_TS));
}
END_TEST

TEST_MAIN("query",
          test_indexes_find_what_a_scan_finds,
          test_columns_compare_by_their_types,
          test_joins_and_orders_are_right,
          test_slice_stats_is_what_grouping_gives,
          test_percentiles_of_odd_things,
          test_sql_of_others_is_harmless,
          test_what_takes_too_long_is_stopped,
          test_reading_the_trace_counts_for_the_time,
          test_memory_has_an_end,
          test_a_table_more_is_read_when_it_is_asked_for,
          test_rows_are_counted,
          test_columns_that_nobody_asks_for_are_not_read)
