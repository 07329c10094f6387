/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Several recordings of kernel events at once, on the running kernel: needs root and tracefs.
 */

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <tracefs.h>
#include <unistd.h>

#include "host/packet-list.h"
#include "kernel.h"
#include "probes/ftrace/ftrace-probe.h"
#include "probes/ftrace/ring.h"
#include "shared/fd.h"
#include "shared/log.h"
#include "test.h"

enum { EVENT_PRINT = 3, EVENT_SYS_ENTER = 329 };

static List links = LIST_INIT(links);

/* One data source of a session. */
typedef struct Session {
        Perfetto__Protos__FtraceConfig config;
        PacketList list;
        SessionLink *link;
        void *probe;
        char *error;
} Session;

static Session *session_new(uint64_t id) {
        Session *session = calloc(1, sizeof(*session));

        ck_assert_ptr_nonnull(session);
        perfetto__protos__ftrace_config__init(&session->config);
        session->list = (PacketList)PACKET_LIST_INIT;
        ck_assert_int_eq(session_link_get(&session->link, &links, id), 0);
        session->config.has_buffer_size_kb = true;
        session->config.buffer_size_kb = 1024;
        return session;
}

static int session_setup(Session *session) {
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        ProbeSetup setup = { .config = &config,
                             .sink = &session->list.sink,
                             .link = session->link };

        return ftrace_probe_new(&session->probe, &session->config, &setup, &session->error);
}

static void session_start(Session *session) {
        ck_assert_msg(session_setup(session) == 0, "%s", session->error);
        ck_assert_int_eq(ftrace_probe_ops.start(session->probe, &session->error), 0);
}

static Session *session_of_events(uint64_t id, char **events, size_t n_events) {
        Session *session = session_new(id);

        session->config.ftrace_events = events;
        session->config.n_ftrace_events = n_events;
        session_start(session);
        return session;
}

static void session_stop(Session *session) {
        ftrace_probe_ops.stop(session->probe, probe_now_ns());
}

static void session_free(Session *session) {
        ftrace_probe_ops.free(session->probe);
        session_link_unref(session->link);
        free(session->error);
        packet_list_deinit(&session->list);
        free(session);
}

static unsigned count_instances(void) {
        char path[4096], prefix[32];
        unsigned n = 0;
        DIR *dir;

        snprintf(path, sizeof(path), "%s/instances", tracefs_tracing_dir());
        snprintf(prefix, sizeof(prefix), "desktrace-%d-", getpid());
        dir = opendir(path);
        ck_assert_ptr_nonnull(dir);
        for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
                n += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
        closedir(dir);
        return n;
}

/* Whether an event is on in the first ring. */
static bool event_is_on(const char *event) {
        Ring *ring = list_first(&rings, Ring, rings);
        _cleanup_(freep) char *text = NULL;
        char file[256];

        ck_assert_ptr_nonnull(ring);
        snprintf(file, sizeof(file), "events/%s/enable", event);
        ck_assert_int_eq(instance_read(ring->instance, file, &text, NULL, NULL), 0);
        return text[0] == '1';
}

/* A text in all rings. */
static void mark(const char *text) {
        Ring *ring;

        list_for_each (ring, &rings, rings)
                ck_assert_int_eq(instance_write(ring->instance, "trace_marker", text, NULL), 0);
}

static size_t count_events(const Session *session, uint32_t number) {
        WireReader bundle, event;
        size_t n = 0;

        for (size_t i = 0; packet_list_find(&session->list, PACKET_FTRACE_EVENTS, i, &bundle); i++)
                for (size_t k = 0; message_submessage(bundle, 2, k, &event); k++)
                        n += message_count(event, number);
        return n;
}

static size_t count_compact(const Session *session) {
        WireReader bundle;
        size_t n = 0;

        for (size_t i = 0; packet_list_find(&session->list, PACKET_FTRACE_EVENTS, i, &bundle); i++)
                n += message_count(bundle, 4);
        return n;
}

static size_t count_marks(const Session *session, const char *text) {
        WireReader bundle, event, print;
        size_t n = 0;

        for (size_t i = 0; packet_list_find(&session->list, PACKET_FTRACE_EVENTS, i, &bundle); i++)
                for (size_t k = 0; message_submessage(bundle, 2, k, &event); k++)
                        n += message_submessage(event, EVENT_PRINT, 0, &print) &&
                             message_has_text(print, 2, text);
        return n;
}

static size_t count_losses(const Session *session) {
        WireReader bundle;
        size_t n = 0;

        for (size_t i = 0; packet_list_find(&session->list, PACKET_FTRACE_EVENTS, i, &bundle); i++)
                n += message_count(bundle, 3) + message_count(bundle, 8);
        return n;
}

/* Whether a session has a call of the number, and any other. */
static void
find_syscalls(const Session *session, uint64_t number, bool *ret_that, bool *ret_other) {
        WireReader bundle, event, enter;

        *ret_that = *ret_other = false;
        for (size_t i = 0; packet_list_find(&session->list, PACKET_FTRACE_EVENTS, i, &bundle); i++)
                for (size_t k = 0; message_submessage(bundle, 2, k, &event); k++) {
                        if (!message_submessage(event, EVENT_SYS_ENTER, 0, &enter))
                                continue;
                        if (message_uint(enter, 1) == number)
                                *ret_that = true;
                        else
                                *ret_other = true;
                }
}

static char *switches[] = { (char *)"sched/sched_switch" };
static char *prints[] = { (char *)"ftrace/print" };
static char *both[] = { (char *)"sched/sched_switch", (char *)"ftrace/print" };

START_TEST(test_sessions_share_a_ring_and_see_what_they_asked_for) {
        Session *a = session_of_events(1, switches, 1), *b = session_of_events(2, prints, 1);

        ck_assert_uint_eq(count_instances(), 1);
        mark("hello");
        usleep(1000);
        session_stop(a);
        session_stop(b);
        ck_assert_uint_gt(count_compact(a), 0);
        ck_assert_uint_eq(count_events(a, EVENT_PRINT), 0);
        ck_assert_uint_eq(count_compact(b), 0);
        ck_assert_uint_eq(count_marks(b, "hello\n"), 1);
        ck_assert_uint_eq(count_losses(a) + count_losses(b), 0);
        session_free(a);
        ck_assert_uint_eq(count_instances(), 1);
        session_free(b);
        ck_assert_uint_eq(count_instances(), 0);
}
END_TEST

START_TEST(test_a_session_sees_nothing_from_before_it_joins_or_after_it_leaves) {
        Session *a = session_of_events(1, prints, 1), *b, *c;

        mark("first");
        b = session_of_events(2, prints, 1);
        mark("second");
        session_stop(a);
        mark("third");
        c = session_of_events(3, both, 2);
        mark("fourth");
        session_stop(b);
        session_stop(c);
        ck_assert_uint_eq(count_marks(a, "first\n"), 1);
        ck_assert_uint_eq(count_marks(a, "second\n"), 1);
        ck_assert_uint_eq(count_events(a, EVENT_PRINT), 2);
        ck_assert_uint_eq(count_marks(b, "first\n"), 0);
        ck_assert_uint_eq(count_marks(b, "second\n"), 1);
        ck_assert_uint_eq(count_events(b, EVENT_PRINT), 3);
        ck_assert_uint_eq(count_marks(c, "fourth\n"), 1);
        ck_assert_uint_eq(count_events(c, EVENT_PRINT), 1);
        ck_assert_uint_eq(count_losses(a) + count_losses(b) + count_losses(c), 0);
        session_free(a);
        session_free(b);
        session_free(c);
}
END_TEST

START_TEST(test_events_are_on_while_somebody_wants_them) {
        Session *a = session_of_events(1, switches, 1), *b = session_of_events(2, both, 2);

        ck_assert(event_is_on("sched/sched_switch"));
        session_free(a);
        ck_assert(event_is_on("sched/sched_switch"));
        a = session_of_events(3, prints, 1);
        session_free(b);
        ck_assert(!event_is_on("sched/sched_switch"));
        session_free(a);
        ck_assert_uint_eq(count_instances(), 0);
}
END_TEST

START_TEST(test_a_session_never_sees_system_calls_of_another_ones_filter) {
        static char *calls_a[] = { (char *)"getppid" }, *calls_b[] = { (char *)"getuid" };
        Session *a = session_new(1), *b = session_new(2), *c = session_of_events(3, switches, 1);
        bool that, other;

        a->config.syscall_events = calls_a;
        a->config.n_syscall_events = 1;
        b->config.syscall_events = calls_b;
        b->config.n_syscall_events = 1;
        session_start(a);
        session_start(b);
        ck_assert_uint_eq(count_instances(), 3);
        syscall(SYS_getppid);
        syscall(SYS_getuid);
        session_stop(a);
        session_stop(b);
        session_stop(c);
        find_syscalls(a, SYS_getppid, &that, &other);
        ck_assert(that && !other);
        find_syscalls(b, SYS_getuid, &that, &other);
        ck_assert(that && !other);
        ck_assert_uint_eq(count_events(c, EVENT_SYS_ENTER), 0);
        session_free(a);
        session_free(b);
        session_free(c);
}
END_TEST

START_TEST(test_two_sources_of_a_session_record_an_event_once) {
        Session *a = session_of_events(1, both, 2), *b = session_of_events(1, prints, 1);
        Session *other = session_of_events(2, prints, 1);

        mark("once");
        ftrace_probe_ops.flush(b->probe, probe_now_ns());
        session_stop(a);
        mark("after");
        session_stop(b);
        session_stop(other);
        ck_assert_uint_eq(count_marks(a, "once\n"), 1);
        ck_assert_uint_eq(count_marks(b, "once\n"), 0);
        ck_assert_uint_eq(count_marks(a, "after\n"), 0);
        ck_assert_uint_eq(count_marks(b, "after\n"), 1);
        ck_assert_uint_eq(count_events(other, EVENT_PRINT), 2);
        session_free(a);
        session_free(b);
        session_free(other);
}
END_TEST

START_TEST(test_two_sources_of_a_session_may_have_filters_of_their_own) {
        static char *calls_a[] = { (char *)"getppid" }, *calls_b[] = { (char *)"getuid" };
        Session *a = session_new(1), *b = session_new(1);
        bool that, other;

        a->config.syscall_events = calls_a;
        a->config.n_syscall_events = 1;
        a->config.ftrace_events = prints;
        a->config.n_ftrace_events = 1;
        b->config.syscall_events = calls_b;
        b->config.n_syscall_events = 1;
        b->config.ftrace_events = prints;
        b->config.n_ftrace_events = 1;
        session_start(a);
        session_start(b);
        syscall(SYS_getppid);
        syscall(SYS_getuid);
        mark("once");
        session_stop(b);
        session_stop(a);
        find_syscalls(a, SYS_getppid, &that, &other);
        ck_assert(that && !other);
        find_syscalls(b, SYS_getuid, &that, &other);
        ck_assert(that && !other);
        /* What neither filters is recorded by one of them. */
        ck_assert_uint_eq(count_marks(a, "once\n"), 1);
        ck_assert_uint_eq(count_marks(b, "once\n"), 0);
        session_free(a);
        session_free(b);
}
END_TEST

START_TEST(test_a_ring_that_grows_keeps_what_it_has) {
        Session *a = session_of_events(1, prints, 1), *b = session_new(2);

        mark("before it grew");
        b->config.ftrace_events = prints;
        b->config.n_ftrace_events = 1;
        b->config.buffer_size_kb = 8192;
        ck_assert_int_eq(session_setup(b), 0);
        ck_assert_uint_eq(list_first(&rings, Ring, rings)->buffer_kb, 8192);
        mark("after it grew");
        session_free(b);
        session_stop(a);
        ck_assert_uint_eq(count_marks(a, "before it grew\n"), 1);
        ck_assert_uint_eq(count_marks(a, "after it grew\n"), 1);
        ck_assert_uint_eq(count_losses(a), 0);
        session_free(a);
}
END_TEST

START_TEST(test_all_rings_together_keep_the_limit_of_memory) {
        static char *calls[] = { (char *)"getppid" };
        Session *a = session_new(1), *b = session_new(2);
        Stream *stream;
        Ring *ring;

        a->config.ftrace_events = switches;
        a->config.n_ftrace_events = 1;
        session_start(a);
        /* As much as one alone may have, in a ring of its own. */
        b->config.syscall_events = calls;
        b->config.n_syscall_events = 1;
        ring = list_first(&rings, Ring, rings);
        stream = list_first(&ring->streams, Stream, streams);
        b->config.buffer_size_kb = (uint32_t)stream->setup->settings.buffer_kb_max;
        ck_assert_int_eq(session_setup(b), PROBE_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(b->error, "buffer_size_kb"));
        ck_assert_uint_eq(count_instances(), 1);
        session_free(b);
        session_free(a);
}
END_TEST

static bool can_read(int fd, int timeout_ms) {
        struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

        return poll(&poll_fd, 1, timeout_ms) == 1;
}

START_TEST(test_a_watermark_wakes_before_the_period_ends) {
        Session *session = session_new(1);
        char text[512];
        int fd;

        session->config.ftrace_events = prints;
        session->config.n_ftrace_events = 1;
        session->config.buffer_size_kb = 512;
        session->config.has_drain_buffer_percent = true;
        session->config.drain_buffer_percent = 25;
        session_start(session);
        fd = ftrace_probe_ops.fd(session->probe);
        if (fd < 0) { /* a kernel before 6.9 */
                session_free(session);
                return;
        }
        ck_assert_uint_gt(ftrace_probe_ops.poll(session->probe, 1), 500 * PROBE_NS_PER_MS);
        ck_assert(!can_read(fd, 0));
        memset(text, 'x', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        for (size_t i = 0; i < 512; i++) /* half of a ring, wherever we run */
                mark(text);
        ck_assert(can_read(fd, 10000));
        ftrace_probe_ops.poll(session->probe, probe_now_ns());
        ck_assert_uint_ge(count_events(session, EVENT_PRINT), 512);
        ck_assert(!can_read(fd, 0));
        session_stop(session);
        session_free(session);
}
END_TEST

START_TEST(test_polls_of_several_sessions_read_the_ring_once) {
        Session *a = session_of_events(1, prints, 1), *b = session_of_events(2, prints, 1);
        uint64_t now_ns = probe_now_ns() + 60 * UINT64_C(1000000000);

        mark("one");
        ftrace_probe_ops.poll(a->probe, now_ns);
        ck_assert_uint_eq(count_marks(a, "one\n"), 1);
        ck_assert_uint_eq(count_marks(b, "one\n"), 1);
        session_free(a);
        mark("two");
        ftrace_probe_ops.flush(b->probe, probe_now_ns());
        ck_assert_uint_eq(count_marks(b, "two\n"), 1);
        session_free(b);
}
END_TEST

static bool can_mark_for_all(void) {
        char path[4096];
        bool ok;
        int fd;

        snprintf(path, sizeof(path), "%s/trace_marker", tracefs_tracing_dir());
        fd = open(path, O_WRONLY | O_CLOEXEC);
        ok = fd >= 0 && write(fd, "x", 1) == 1;
        fd_close(fd);
        return ok;
}

START_TEST(test_a_ring_that_does_not_record_keeps_nobody_from_writing_markers) {
        Session *session = session_new(1);

        session->config.ftrace_events = prints;
        session->config.n_ftrace_events = 1;
        if (!can_mark_for_all()) /* somebody else does */
                return;
        ck_assert_int_eq(session_setup(session), 0);
        ck_assert(can_mark_for_all());
        ck_assert_int_eq(ftrace_probe_ops.start(session->probe, &session->error), 0);
        ck_assert(can_mark_for_all());
        session_stop(session);
        ck_assert(can_mark_for_all());
        session_free(session);
}
END_TEST

int main(void) {
        const TTest *tests[] = {
                test_sessions_share_a_ring_and_see_what_they_asked_for,
                test_a_session_sees_nothing_from_before_it_joins_or_after_it_leaves,
                test_events_are_on_while_somebody_wants_them,
                test_a_session_never_sees_system_calls_of_another_ones_filter,
                test_two_sources_of_a_session_record_an_event_once,
                test_two_sources_of_a_session_may_have_filters_of_their_own,
                test_a_ring_that_grows_keeps_what_it_has,
                test_all_rings_together_keep_the_limit_of_memory,
                test_a_watermark_wakes_before_the_period_ends,
                test_polls_of_several_sessions_read_the_ring_once,
                test_a_ring_that_does_not_record_keeps_nobody_from_writing_markers,
        };

        log_init("test-ftrace-sessions");
        if (kernel_why_not()) {
                printf("1..0 # SKIP %s\n", kernel_why_not());
                return EXIT_SUCCESS;
        }
        return test_run("ftrace-sessions", tests, ARRAY_SIZE(tests));
}
