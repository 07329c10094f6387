/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Startup: events from before a session is there */

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>

#include "lib/library.h"
#include "lib/pool.h"
#include "lib/source-private.h"
#include "lib/startup.h"
#include "lib/track-clock.h"
#include "shared/names.h"
#include "shared/text.h"

#define NS_PER_MS       UINT64_C(1000000)
#define MS_PER_SEC      1000u
#define KIB             1024u
#define FORK_LOCK_TRIES 10000

/* perfetto.protos.TrackEventConfig */
enum {
        CONFIG_DISABLED_CATEGORIES = 1,
        CONFIG_ENABLED_CATEGORIES = 2,
        CONFIG_DISABLED_TAGS = 3,
        CONFIG_ENABLED_TAGS = 4,
};

/*
 * Rules
 */

/* Adds a rule for one of the names in the options. */
static int put_rule(Bytes *rules, uint32_t field, const char *text, size_t n) {
        WireWriter writer;
        int r;

        r = bytes_reserve(rules, WIRE_TAG_MAX + WIRE_VARINT_MAX + n);
        if (r < 0)
                return r;
        wire_writer_init(&writer, rules->data + rules->n, rules->n_allocated - rules->n);
        wire_put_bytes(&writer, field, text, n);
        rules->n += wire_writer_size(&writer);
        return 0;
}

static int read_rule(Bytes *rules, const char *text, size_t n, bool *ret_is_wanted) {
        bool is_wanted = true, is_tag = false;

        if (n > 0 && text[0] == '-') {
                is_wanted = false;
                text++, n--;
        }
        if (n > 0 && text[0] == '#') {
                is_tag = true;
                text++, n--;
        }
        *ret_is_wanted = is_wanted && n > 0;
        if (n == 0)
                return 0;
        if (is_tag)
                return put_rule(
                        rules, is_wanted ? CONFIG_ENABLED_TAGS : CONFIG_DISABLED_TAGS, text, n);
        return put_rule(
                rules, is_wanted ? CONFIG_ENABLED_CATEGORIES : CONFIG_DISABLED_CATEGORIES, text, n);
}

/* A list of names excludes all others; "*" is asked last of all, and enables before it disables. */
static int read_rules(Bytes *rules, const char *text) {
        bool names_some = false;

        while (text && *text) {
                size_t n = strcspn(text, ",");
                bool is_wanted;
                int r;

                r = read_rule(rules, text, n, &is_wanted);
                if (r < 0)
                        return r;
                names_some |= is_wanted;
                text += n;
                text += *text == ',';
        }
        return names_some ? put_rule(rules, CONFIG_DISABLED_CATEGORIES, "*", 1) : 0;
}

/*
 * Fork. The library's own handlers are there only once its thread is: a program that becomes a daemon before its
 * dt_init() is recorded from there on, and keeps nothing of what its parent was.
 */

static _Thread_local bool fork_has_lock;

/* Tries only for a short time, since a signal handler that forks may have interrupted the thread that holds the
 * lock. */
static void before_fork(void) {
        fork_has_lock = track_try_lock();
        for (unsigned i = 0; i < FORK_LOCK_TRIES && !fork_has_lock; i++) {
                sched_yield();
                fork_has_lock = track_try_lock();
        }
}

static void in_parent(void) {
        if (fork_has_lock)
                track_unlock();
}

static void in_child(void) {
        if (!fork_has_lock) {
                atomic_store(&library_is_inert, true);
                return;
        }
        pool_after_fork();
        if (startup.is_keeping)
                startup_end();
        atomic_store(&startup.logs, &startup_closed);
        madvise(startup.memory, startup.n_bytes, MADV_DONTNEED);
        if (!track_is_offered())
                track_forget_parent();
        track_unlock();
}

/*
 * Begin and end
 */

static int map_memory(size_t n_bytes) {
        void *memory = mmap(NULL,
                            n_bytes,
                            PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                            -1,
                            0);

        if (memory == MAP_FAILED)
                return -ENOMEM;
        startup.memory = memory;
        startup.n_bytes = n_bytes;
        atomic_store(&startup.n_used, sizeof(uint64_t)); /* nothing is at 0 */
        return 0;
}

/* With the lock. */
static int begin(const dt_startup_options *options) {
        unsigned timeout_ms = options->timeout_ms ?: DT_STARTUP_TIMEOUT_MS;
        int r;

        if (startup.was_asked)
                return -EALREADY;
        if (dt_is_recording())
                return -EBUSY;
        bytes_clear(&startup.rules);
        r = read_rules(&startup.rules, options->categories);
        if (r == 0)
                r = track_introduce_process();
        if (r == 0)
                r = map_memory(options->bytes ?: DT_STARTUP_BYTES);
        track_clock_prepare();
        if (r == 0)
                r = -pthread_atfork(before_fork, in_parent, in_child);
        if (r < 0)
                return r;
        atomic_store(&startup.deadline_ns, track_now_ns() + timeout_ms * NS_PER_MS);
        startup.was_asked = startup.is_keeping = true;
        track_apply_categories();
        return 0;
}

DT_EXPORT int dt_startup_record(const dt_startup_options *options) {
        static const dt_startup_options defaults = { 0 };
        int cancel_state, r;

        if (library_inert())
                return -ECANCELED;
        options = options ?: &defaults;
        if ((options->bytes > 0 && options->bytes < STARTUP_BYTES_MIN) ||
            options->bytes > DT_STARTUP_BYTES_MAX ||
            options->timeout_ms > DT_STARTUP_TIMEOUT_MAX_MS)
                return -EINVAL;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
        track_lock();
        r = begin(options);
        track_unlock();
        if (r == 0 &&
            library_has_started()) /* from now on the library's thread looks at the clock */
                library_wake();
        pthread_setcancelstate(cancel_state, NULL);
        return r;
}

static uint64_t read_number(const char *variable, uint64_t max) {
        const char *text = secure_getenv(variable);
        uint64_t value;

        if (!text)
                return 0;
        switch (text_parse_uint(&value, text, max)) {
        case 0:
                return value;
        case -ERANGE:
                return max;
        default:
                return 0;
        }
}

/* Runs before the constructors of programs that link the library. Whatever goes wrong, the program starts. */
__attribute__((__constructor__)) static void begin_by_environment(void) {
        const char *categories = secure_getenv(TRACING_ENV_STARTUP);
        dt_startup_options options = { .categories = categories };
        int saved_errno = errno;

        if (!categories || !categories[0])
                return;
        options.bytes = read_number(TRACING_ENV_STARTUP_KIB, DT_STARTUP_BYTES_MAX / KIB) * KIB;
        if (options.bytes > 0)
                options.bytes = MAX(options.bytes, (size_t)STARTUP_BYTES_MIN);
        options.timeout_ms = (unsigned)read_number(TRACING_ENV_STARTUP_SECONDS,
                                                   DT_STARTUP_TIMEOUT_MAX_MS / MS_PER_SEC) *
                             MS_PER_SEC;
        dt_startup_record(&options);
        errno = saved_errno;
}
