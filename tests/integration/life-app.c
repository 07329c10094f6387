/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program that is hard on the library, and knows how many events it has emitted
 *
 * Usage: life-app COUNT-FILE [shared-memory-KiB [closed]]
 *   COUNT-FILE has, in binary, how many events have returned (a 64-bit number); for who kills it.
 *   "closed" closes stdin, stdout and stderr before anything else, and emits now and then until it is killed.
 * Reads commands from stdin, one a line, and answers each with a line:
 *   on, off            waits until it is recorded, or is not
 *   go KIND N M        starts to emit; "steady": M threads with N events each. "churn": M times N threads one after the
 *                      other with 10 events each. "crowd": M threads that are all there at once with N events each.
 *                      "forks": as steady, and children are forked meanwhile that emit, exit, and execute others.
 *   join               waits for its end, and says how many events that were
 *   endless M          emits with M threads until it is killed
 *   init               calls dt_init() once more, and says what it returned
 *   daemonise          goes on in a child of a child that has closed all descriptors but 0 to 2, and says its pid
 *   spawn              runs a child by posix_spawn() and one by vfork(), and says how many descriptors these had
 *   chroot             goes into an empty directory for good; says "cannot" if it may not
 *   plugin FILE N      loads it, has it emit its event, and unloads it, N times
 * At the end of its stdin it ends, with an event by a function of atexit() and one by a destructor.
 */

#include <assert.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <desktrace/track-event.h>

#define THREADS_MAX     2048
#define CHURN_EVENTS    10
#define STACK_BYTES     (256 * 1024)
#define CHILDREN        40
#define EXECUTED_EVERYN 4

DT_CATEGORY(life, "life", "All that there is");

static _Atomic uint64_t *n_emitted;
static uint64_t n_before;

static pthread_t threads[THREADS_MAX];
static unsigned n_threads, n_each;
static char kind[16];
static pthread_barrier_t all_there;

static void emit(void) {
        DT_INSTANT(life, "beat", DT_INT("i", 1));
        atomic_fetch_add(n_emitted, 1);
}

static pthread_t start_thread(void *(*function)(void *), void *userdata) {
        pthread_attr_t attributes;
        pthread_t thread;

        assert(pthread_attr_init(&attributes) == 0);
        assert(pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0);
        assert(pthread_create(&thread, &attributes, function, userdata) == 0);
        pthread_attr_destroy(&attributes);
        return thread;
}

static void *be_steady(void *userdata) {
        for (unsigned i = 0; i < n_each; i++)
                emit();
        return NULL;
}

static void *be_brief(void *userdata) {
        for (unsigned i = 0; i < CHURN_EVENTS; i++)
                emit();
        return NULL;
}

static void *churn(void *userdata) {
        for (unsigned i = 0; i < n_each; i++)
                pthread_join(start_thread(be_brief, NULL), NULL);
        return NULL;
}

static void *be_one_of_many(void *userdata) {
        emit();
        pthread_barrier_wait(&all_there);
        for (unsigned i = 1; i < n_each; i++)
                emit();
        pthread_barrier_wait(&all_there);
        return NULL;
}

static void *be_endless(void *userdata) {
        for (;;)
                emit();
        return NULL;
}

/* What a child emits goes nowhere, and is not counted either. */
static void be_a_child(unsigned number) {
        for (unsigned i = 0; i < 100; i++)
                DT_INSTANT(life, "beat", DT_INT("child", number));
        if (number % EXECUTED_EVERYN == 0)
                execlp("true", "true", NULL);
        _exit(0);
}

static void fork_children(void) {
        for (unsigned i = 0; i < CHILDREN; i++) {
                pid_t pid = fork();

                assert(pid >= 0);
                if (pid == 0)
                        be_a_child(i);
                assert(waitpid(pid, NULL, 0) == pid);
        }
}

static void *(*function_of(const char *name))(void *) {
        if (strcmp(name, "churn") == 0)
                return churn;
        if (strcmp(name, "crowd") == 0)
                return be_one_of_many;
        return be_steady;
}

static void start(const char *command) {
        assert(sscanf(command, "go %15s %u %u", kind, &n_each, &n_threads) == 3);
        assert(n_threads > 0 && n_threads <= THREADS_MAX);
        n_before = *n_emitted;
        pthread_barrier_init(&all_there, NULL, n_threads);
        for (unsigned i = 0; i < n_threads; i++)
                threads[i] = start_thread(function_of(kind), NULL);
        puts("going");
}

static void join(void) {
        if (strcmp(kind, "forks") == 0)
                fork_children();
        for (unsigned i = 0; i < n_threads; i++)
                pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&all_there);
        printf("%llu\n", (unsigned long long)(*n_emitted - n_before));
}

static void wait_for_session(bool is_on) {
        while (dt_category_enabled(&life) != is_on)
                usleep(1000);
        puts(is_on ? "on" : "off");
}

static void daemonise(void) {
        for (unsigned i = 0; i < 2; i++) {
                pid_t pid = fork();

                assert(pid >= 0);
                if (pid > 0)
                        _exit(0);
                setsid();
        }
        assert(chdir("/") == 0);
        for (int fd = 3; fd < 1024; fd++)
                close(fd);
        printf("%d\n", getpid());
}

/* In the child of vfork() the parent's memory is its own: events are the parent's. */
static void spawn(void) {
        static char shell[] = "sh", option[] = "-c", script[] = "exit $(ls /proc/self/fd | wc -l)";
        static char *const arguments[] = { shell, option, script, NULL };
        int status, other_status;
        pid_t pid;

        assert(posix_spawnp(&pid, shell, NULL, NULL, arguments, environ) == 0);
        assert(waitpid(pid, &status, 0) == pid);
        pid = vfork();
        assert(pid >= 0);
        if (pid == 0) {
                emit();
                execvp(shell, arguments);
                _exit(127);
        }
        assert(waitpid(pid, &other_status, 0) == pid);
        printf("%d %d\n", WEXITSTATUS(status), WEXITSTATUS(other_status));
}

static void load_plugin(const char *path, unsigned n) {
        n_before = *n_emitted;
        for (unsigned i = 0; i < n; i++) {
                void *plugin = dlopen(path, RTLD_NOW);
                void (*emit_event)(void);

                assert(plugin);
                *(void **)&emit_event = dlsym(plugin, "life_plugin_emit");
                assert(emit_event);
                emit_event();
                atomic_fetch_add(n_emitted, 1);
                dlclose(plugin);
        }
        printf("%llu\n", (unsigned long long)(*n_emitted - n_before));
}

static void at_exit(void) {
        DT_INSTANT(life, "at exit");
}

/* Before that of the category, which was constructed before. */
static __attribute__((__constructor__)) void construct(void) {
        DT_INSTANT(life, "constructor");
        atexit(at_exit);
}

static __attribute__((__destructor__)) void destruct(void) {
        DT_INSTANT(life, "destructor");
}

static void obey(const char *command) {
        char path[256];
        unsigned n;

        if (strcmp(command, "on") == 0 || strcmp(command, "off") == 0)
                wait_for_session(command[1] == 'n');
        else if (strncmp(command, "go ", 3) == 0)
                start(command);
        else if (strcmp(command, "join") == 0)
                join();
        else if (sscanf(command, "endless %u", &n) == 1) {
                while (n-- > 0)
                        start_thread(be_endless, NULL);
                puts("going");
        } else if (strcmp(command, "init") == 0)
                printf("%d\n", dt_init(NULL));
        else if (strcmp(command, "daemonise") == 0)
                daemonise();
        else if (strcmp(command, "spawn") == 0)
                spawn();
        else if (strcmp(command, "chroot") == 0)
                puts(chroot("/proc/self/fdinfo") == 0 && chdir("/") == 0 ? "there" : "cannot");
        else if (sscanf(command, "plugin %255s %u", path, &n) == 2)
                load_plugin(path, n);
        else
                puts("what?");
        fflush(stdout);
}

static void map_count(const char *path) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        void *page;

        assert(fd >= 0);
        assert(ftruncate(fd, sizeof(*n_emitted)) == 0);
        page = mmap(NULL, sizeof(*n_emitted), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        assert(page != MAP_FAILED);
        n_emitted = page;
        close(fd);
}

int main(int argc, char *argv[]) {
        dt_options options = { .name = "life-app" };
        char command[300];

        if (argc < 2)
                return 2;
        if (argc > 2)
                options.shared_memory_bytes = strtoul(argv[2], NULL, 10) * 1024;
        if (argc > 3)
                for (int fd = 0; fd < 3; fd++)
                        close(fd);
        map_count(argv[1]);
        if (dt_init(&options) < 0)
                return 1;
        while (argc > 3) {
                emit();
                usleep(1000);
        }
        while (fgets(command, sizeof(command), stdin)) {
                command[strcspn(command, "\n")] = 0;
                obey(command);
        }
        return 0;
}
