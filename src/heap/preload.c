/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Preload: what the library does in the programs that load it
 *
 * It offers one data source under two names: the name in Perfetto's configs, and a descriptive one. With
 * $DESKTRACE_HEAP it counts from the program's start, for the session that started the program.
 */

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "heap/own-allocator.h"
#include "heap/profile.h"
#include "heap/real.h"
#include "heap/recorder.h"
#include "shared/macro.h"
#include "shared/monotonic.h"
#include "shared/names.h"
#include "shared/text.h"

#define NS_PER_MS   UINT64_C(1000000)
#define WAIT_MAX_MS 10000

/* Fields of perfetto.protos.TracePacket. */
enum { PACKET_PROFILE = 37, PACKET_TRACK_DESCRIPTOR = 60 };

static HeapProcess program = { .name = "" };
static pid_t own_pid; /* in its own namespace */
static uint64_t wait_until_ns;
static dt_source *sources[2];

/* Allocations that we know beforehand we will not see. */
static void note_unseen(dt_instance *instance, const HeapSettings *settings) {
        const char *own = own_allocator_find();
        char text[512];

        if (settings->wants_stream)
                (void)dt_instance_add_note(instance,
                                           N_("stream_allocations is not supported: sums by call "
                                              "stack are recorded."));
        if (!walker_has_stacks())
                (void)dt_instance_add_note(instance,
                                           N_("Allocations have their callers only: call stacks "
                                              "need an x86-64 processor and glibc 2.35."));
        if (!own)
                return;
        snprintf(text,
                 sizeof(text),
                 N_("%s seems to be a part of %s: what that gives out is not seen, but "
                    "page faults are (desktrace record --stacks-at=page-fault)."),
                 own,
                 program.name);
        (void)dt_instance_add_note(instance, text);
}

/* Runs on libdesktrace's thread, whose allocations are not the program's. */
static const char *setup(dt_instance *instance, const void *config, size_t n, bool is_for_all) {
        HeapSettings settings;
        Recording *recording;
        int r;

        heap_thread.is_inside = true;
        if (program.pid == 0)
                program.pid = dt_instance_get_pid(instance);
        r = heap_settings_parse(&settings, config, n, &program, is_for_all);
        if (r == SETTINGS_E_INTERVAL)
                return N_("sampling_interval_bytes must be from 1 to 2^40");
        if (r)
                return N_("the heapprofd_config is no protobuf message");
        if (!settings.is_meant)
                return NULL;
        note_unseen(instance, &settings);
        r = recorder_add(&recording, instance, &settings, &program);
        if (r == -EBUSY)
                return N_("eight sessions record this program's heap already");
        if (r < 0)
                return N_("there is no memory left to record the heap in");
        dt_instance_set_userdata(instance, recording);
        return NULL;
}

static const char *
setup_named(dt_instance *instance, const void *config, size_t n, void *userdata _unused_) {
        return setup(instance, config, n, true);
}

static const char *
setup_perfetto(dt_instance *instance, const void *config, size_t n, void *userdata _unused_) {
        return setup(instance, config, n, false);
}

static void flush(dt_instance *instance, dt_reply *reply, void *userdata _unused_) {
        Recording *recording = dt_instance_get_userdata(instance);

        if (recording)
                recorder_flush(recording, reply);
        else
                dt_reply_done(reply, NULL);
}

static void stop(dt_instance *instance, dt_reply *reply, void *userdata _unused_) {
        Recording *recording = dt_instance_get_userdata(instance);

        if (recording)
                recorder_stop(recording, reply);
        else
                dt_reply_done(reply, NULL);
}

static void gone(dt_instance *instance, void *userdata _unused_) {
        Recording *recording = dt_instance_get_userdata(instance);

        if (recording)
                recorder_remove(recording);
}

static const dt_source_ops ops[] = {
        { .setup = setup_perfetto, .flush = flush, .stop = stop, .gone = gone },
        { .setup = setup_named, .flush = flush, .stop = stop, .gone = gone },
};
static const char *const names[] = { TRACING_PERFETTO_HEAP_SOURCE, TRACING_HEAP_SOURCE };

/* Why some allocations do not reach the hooks: the program has an allocator that comes with its own tools. Returns
 * NULL if they all do. */
static const char *find_reason(void) {
        if (dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init") ||
            dlsym(RTLD_DEFAULT, "__msan_init"))
                return N_("this program was built with a sanitizer, which has an allocator of its "
                          "own");
        return NULL;
}

static void offer(const char *reason) {
        static const uint32_t fields[] = { PACKET_PROFILE, PACKET_TRACK_DESCRIPTOR };
        const dt_source_options options = {
                .packet_fields = fields,
                .n_packet_fields = ARRAY_SIZE(fields),
                .unavailable = reason,
        };

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                (void)dt_source_register(&sources[i], names[i], &options, &ops[i], NULL);
}

static uint64_t read_number(const char *text, uint64_t most) {
        uint64_t number;

        return text && text_parse_uint(&number, text, most) == 0 ? number : 0;
}

static void begin(const char *interval_text) {
        const uint64_t interval = read_number(interval_text, PROFILE_INTERVAL_MAX);
        const uint64_t wait_ms = read_number(secure_getenv(TRACING_ENV_WAIT), WAIT_MAX_MS);

        if (interval == 0)
                return;
        wait_until_ns = monotonic_ns() + wait_ms * NS_PER_MS;
        (void)recorder_start_early(interval);
}

/* Processes of Chromium and its descendants that make their sandbox, or fork, only while they have one thread. Their
 * memory comes from an allocator of their own, as the browser's main process reports. */
static bool must_be_single(int argc, char **argv) {
        static const char *const all[] = {
                "--type=zygote",
                "--type=gpu-process",
                "--type=utility",
                "--type=renderer",
        };

        for (int i = 1; i < argc; i++)
                for (size_t k = 0; k < ARRAY_SIZE(all); k++)
                        if (argv[i] && streq(argv[i], all[k]))
                                return true;
        return false;
}

static void begin_and_offer(const char *reason) {
        if (profile_init() < 0)
                reason = N_("there is no memory left to record the heap in");
        if (!reason)
                begin(secure_getenv(TRACING_ENV_HEAP));
        offer(reason);
}

/* Whatever we or libdesktrace allocate here is not the program's. */
__attribute__((__constructor__)) static void load(int argc, char **argv) {
        const char *reason = find_reason();

        heap_thread.is_inside = true;
        real_find();
        own_pid = getpid();
        program.name = argc > 0 && argv[0] ? argv[0] : program_invocation_name;
        if (!must_be_single(argc, argv))
                begin_and_offer(reason);
        heap_thread.is_inside = false;
}

/* Runs after the destructors of the program and its libraries, so whatever is left now was never freed. */
__attribute__((__destructor__)) static void unload(void) {
        /* A child of vfork() shares our memory and calls _exit(), too. */
        if (profile_is_ours && *profile_is_ours && getpid() == own_pid)
                recorder_finish(wait_until_ns);
}

/* Programs that end without running destructors call this. */
_public_ void _exit(int status) {
        static void (*real_exit)(int) __attribute__((__noreturn__));

        unload();
        if (!real_exit) {
                void *found = dlsym(RTLD_NEXT, "_exit");

                memcpy(&real_exit, &found, sizeof(found));
        }
        real_exit(status);
}
