/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The kernel's work outside of threads, namely interrupts and timers by CPU, and the jobs of its worker threads
 */

#include "trace/import-kernel.h"

/* Each CPU has one track for each kind of handler. */
typedef struct HandlerKind {
        const char *type, *track_name, *category;
} HandlerKind;

static const HandlerKind irq = { "cpu_irq", "Irq Cpu %u", "irq" },
                         softirq = { "cpu_softirq", "SoftIrq Cpu %u", "irq" },
                         hrtimer = { "cpu_hrtimer", "Hrtimer Cpu %u", "hrtimer" };

static uint32_t
handler_track(TraceImport *import, const KernelEvent *event, const HandlerKind *kind) {
        const TracePlainTrack track = {
                .type = kind->type,
                .name = trace_pool_add_format(&import->store->pool, kind->track_name, event->cpu),
                .kind = TRACK_KIND_SLICE,
                .utid = TRACE_NONE,
                .upid = TRACE_NONE,
                .cpu = event->cpu,
        };

        return trace_tracks_plain(&import->tracks, &track);
}

static uint32_t work_track(TraceImport *import, const KernelEvent *event) {
        uint32_t utid = trace_threads_get(&import->threads, event->pid);

        return utid == TRACE_NONE ? TRACE_NONE : trace_tracks_thread(&import->tracks, utid);
}

static void begin(TraceImport *import,
                  const KernelEvent *event,
                  uint32_t track,
                  const char *category,
                  uint32_t name,
                  uint32_t args) {
        if (track != TRACE_NONE)
                trace_slices_begin(&import->slices,
                                   track,
                                   (int64_t)event->at_ns,
                                   -1,
                                   trace_pool_add_text(&import->store->pool, category),
                                   name,
                                   args);
}

static void end(TraceImport *import,
                const KernelEvent *event,
                uint32_t track,
                const char *category,
                uint32_t args) {
        if (track != TRACE_NONE)
                trace_slices_end(&import->slices,
                                 track,
                                 (int64_t)event->at_ns,
                                 trace_pool_add_text(&import->store->pool, category),
                                 0,
                                 args);
}

static uint32_t int_arg(TraceImport *import, const char *key, int64_t value) {
        if (!import_wants(import, TRACE_PART_ARGS))
                return TRACE_NONE;
        trace_args_clear(&import->args);
        trace_args_add_int(&import->args, import->store, key, value);
        return trace_arg_sets_store(&import->sets, import->store, &import->args);
}

static uint32_t outcome_arg(TraceImport *import, bool is_handled) {
        if (!import_wants(import, TRACE_PART_ARGS))
                return TRACE_NONE;
        trace_args_clear(&import->args);
        trace_args_add_string(
                &import->args,
                import->store,
                "ret",
                trace_pool_add_text(&import->store->pool, is_handled ? "handled" : "unhandled"));
        return trace_arg_sets_store(&import->sets, import->store, &import->args);
}

static uint32_t irq_name(TraceImport *import, const KernelEvent *event) {
        const char *name = trace_pool_text(&import->store->pool, event->texts[2]);

        return trace_pool_add_format(&import->store->pool, "IRQ (%s)", name ? name : "");
}

static uint32_t softirq_name(TraceImport *import, const KernelEvent *event) {
        static const char *const names[] = { "HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
                                             "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU" };

        return event->numbers[1] < ARRAY_SIZE(names)
                       ? trace_pool_add_text(&import->store->pool, names[event->numbers[1]])
                       : trace_pool_add_format(
                                 &import->store->pool, "softirq %u", (unsigned)event->numbers[1]);
}

/* The name of the kernel's function, or its address if the recording has no name for it. */
static uint32_t function_name(TraceImport *import, const KernelEvent *event, uint64_t address) {
        return event->symbol ? event->symbol
                             : trace_pool_add_format(
                                       &import->store->pool, "0x%llx", (unsigned long long)address);
}

void apply_handler(TraceImport *import, const KernelEvent *event) {
        if (!import_wants(import, TRACE_PART_EVENTS))
                return;
        switch (event->body.number) {
        case TRACE_EVENT_IRQ_ENTRY:
                begin(import,
                      event,
                      handler_track(import, event, &irq),
                      irq.category,
                      irq_name(import, event),
                      TRACE_NONE);
                break;
        case TRACE_EVENT_IRQ_EXIT:
                end(import,
                    event,
                    handler_track(import, event, &irq),
                    irq.category,
                    outcome_arg(import, event->numbers[2] == 1));
                break;
        case TRACE_EVENT_SOFTIRQ_ENTRY:
                begin(import,
                      event,
                      handler_track(import, event, &softirq),
                      softirq.category,
                      softirq_name(import, event),
                      TRACE_NONE);
                break;
        case TRACE_EVENT_SOFTIRQ_EXIT:
                end(import,
                    event,
                    handler_track(import, event, &softirq),
                    softirq.category,
                    int_arg(import, "vec", (int64_t)event->numbers[1]));
                break;
        case TRACE_EVENT_HRTIMER_EXPIRE_ENTRY:
                begin(import,
                      event,
                      handler_track(import, event, &hrtimer),
                      hrtimer.category,
                      function_name(import, event, event->numbers[3]),
                      TRACE_NONE);
                break;
        case TRACE_EVENT_HRTIMER_EXPIRE_EXIT:
                end(import,
                    event,
                    handler_track(import, event, &hrtimer),
                    hrtimer.category,
                    TRACE_NONE);
                break;
        case TRACE_EVENT_WORKQUEUE_EXECUTE_START:
                begin(import,
                      event,
                      work_track(import, event),
                      "workqueue",
                      function_name(import, event, event->numbers[2]),
                      int_arg(import, "cpu", event->cpu));
                break;
        case TRACE_EVENT_WORKQUEUE_EXECUTE_END:
                end(import, event, work_track(import, event), "workqueue", TRACE_NONE);
                break;
        }
}
