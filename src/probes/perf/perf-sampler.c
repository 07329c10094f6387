/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Perf sampler: samples as packets of a trace */

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "probes/perf/perf-sampler.h"

#define READS_MAX 256u /* loads of files, for one stack */

/* The sampler's own modules; files have numbers from 64 on. */
enum {
        MODULE_KERNEL = 1,
        MODULE_JIT,
        MODULE_UNKNOWN,
        MODULE_CUT,
};

static StackModule own_module(uint32_t id, const char *path) {
        return (StackModule){ .id = id, .path = path };
}

int perf_sampler_init(PerfSampler *sampler, const PerfSettings *settings, PacketSink *sink) {
        int r;

        *sampler = (PerfSampler){
                .settings = settings,
                .layout = {
                        .has_chain = settings->wants_kernel_frames || settings->kernel_walks,
                        .has_stack = settings->wants_user_frames && !settings->kernel_walks,
                },
                .jit_module = own_module(MODULE_JIT, "[jit]"),
                .unknown_module = own_module(MODULE_UNKNOWN, "[unknown]"),
                .cut_module = own_module(MODULE_CUT, "[truncated]"),
        };
        /* Viewers recognise the kernel's frames by this word. */
        perf_kernel_init(&sampler->kernel, own_module(MODULE_KERNEL, "kernel"));
        perf_held_init(&sampler->held);
        perf_pieces_init(&sampler->pieces, settings->has_owner ? &settings->owner : NULL);
        r = perf_writer_init(&sampler->writer, settings, sink);
        if (r >= 0)
                r = unwinder_new(&sampler->unwinder, EM_X86_64);
        if (r >= 0 && settings->is_off_cpu)
                r = perf_sleepers_init(&sampler->sleepers);
        if (r >= 0)
                r = perf_code_init(&sampler->code,
                                   sampler->unwinder,
                                   settings->has_owner ? &settings->owner : NULL);
        if (r >= 0)
                r = perf_processes_init(
                        &sampler->processes, &sampler->code, &settings->scope, settings->has_owner);
        return r;
}

void perf_sampler_deinit(PerfSampler *sampler) {
        perf_processes_deinit(&sampler->processes);
        perf_code_deinit(&sampler->code);
        perf_pieces_deinit(&sampler->pieces);
        perf_sleepers_deinit(&sampler->sleepers);
        perf_held_deinit(&sampler->held);
        perf_writer_deinit(&sampler->writer);
        unwinder_free(sampler->unwinder);
        perf_kernel_deinit(&sampler->kernel);
}

/*
 * Results of the loader
 */

static void take_loads(PerfSampler *sampler) {
        Load *load;

        while ((load = loader_take(sampler->code.loader))) {
                if (load->kind == LOAD_FILE)
                        perf_code_take(&sampler->code, load);
                else
                        perf_processes_take(&sampler->processes, load);
                load_free(load);
        }
}

bool perf_sampler_collect(PerfSampler *sampler) {
        take_loads(sampler);
        return loader_is_busy(sampler->code.loader);
}

/* Whether to wait for files that are being read: if there is time, and the rings have room for the samples of that
 * time. One incomplete stack is better than many lost ones. */
static bool may_wait(const PerfSampler *sampler) {
        return loader_is_busy(sampler->code.loader) && loader_now_ns() < sampler->wait_until_ns &&
               (!sampler->events || perf_events_fill(sampler->events) <= PERF_WAIT_FILL_PERCENT);
}

static void wait_for_load(PerfSampler *sampler) {
        loader_wait(sampler->code.loader,
                    MIN(sampler->wait_until_ns, loader_now_ns() + PERF_WAIT_STEP_NS));
        take_loads(sampler);
}

static const Mapping *find_mapping(const AddressSpace *space, const CodeFile *file) {
        for (size_t i = 0; i < space->n_mappings; i++)
                if (space->mappings[i].file == file)
                        return &space->mappings[i];
        return NULL;
}

/* Has a file read, and waits for it within the time of this drain. Returns whether the file was read, or cannot be; not
 * if only this process's end was in the way. */
static bool read_file(PerfSampler *sampler, const PerfProcess *process, CodeFile *code) {
        const Mapping *mapping = find_mapping(&process->space, code);

        if (!mapping)
                return false;
        perf_code_request(&sampler->code, perf_file_of(code), process->pid, mapping);
        while (perf_file_of(code)->is_loading && may_wait(sampler))
                wait_for_load(sampler);
        take_loads(sampler);
        return code->state != CODE_UNREAD;
}

/* An unknown process: its samples wait for /proc as they do for a file. */
static void wait_for_process(PerfSampler *sampler, PerfProcess *process) {
        if (perf_process_is_settled(&sampler->processes, process))
                return;
        while (!perf_process_is_settled(&sampler->processes, process) && may_wait(sampler))
                wait_for_load(sampler);
        if (sampler->settings->has_owner && sampler->events &&
            perf_events_foresee_change(sampler->events, process->pid))
                perf_process_hide(process);
}

/*
 * Frames
 */

/* Samples wait for a process's first names as they do for its mappings; later names are for later samples. */
static const JitName *find_jit_name(PerfSampler *sampler, PerfProcess *process, uint64_t address) {
        const JitName *name =
                perf_processes_jit(&sampler->processes, process, address, loader_now_ns());

        while (!name && !process->jit && process->is_jit_loading && may_wait(sampler)) {
                wait_for_load(sampler);
                name = process->jit ? jit_names_find(process->jit, address) : NULL;
        }
        return name;
}

static void add_jit_frame(PerfSampler *sampler, PerfProcess *process, uint64_t address) {
        const JitName *name = find_jit_name(sampler, process, address);

        if (name)
                stack_table_add_named(
                        &sampler->writer.stacks, &sampler->jit_module, name->key, name->text);
        else
                stack_table_add_named(&sampler->writer.stacks, &sampler->jit_module, 0, "[jit]");
}

static void
add_user_frame(PerfSampler *sampler, PerfProcess *process, const UnwindFrame *frame, bool is_code) {
        PerfFile *file = perf_file_of(frame->file);

        if (file) {
                perf_code_use(&sampler->code, file);
                stack_table_add(&sampler->writer.stacks, &file->stack, frame->address);
        } else if (is_code) {
                add_jit_frame(sampler, process, frame->pc);
        } else {
                stack_table_add_named(
                        &sampler->writer.stacks, &sampler->unknown_module, 0, "[unknown]");
        }
}

static void add_cut(PerfSampler *sampler) {
        stack_table_add_named(&sampler->writer.stacks, &sampler->cut_module, 0, "[truncated]");
}

/* Adds a user-space address from the kernel's chain. */
static UnwindError add_chained(PerfSampler *sampler, PerfProcess *process, uint64_t address) {
        UnwindFrame frame;
        UnwindEnd end;

        end = unwinder_locate(sampler->unwinder, &frame, &process->space, address);
        if (end == UNWIND_UNREAD && read_file(sampler, process, sampler->unwinder->needs))
                end = unwinder_locate(sampler->unwinder, &frame, &process->space, address);
        add_user_frame(sampler, process, &frame, end == UNWIND_COMPLETE);
        return end == UNWIND_COMPLETE ? UNWIND_ERROR_NONE : UNWIND_ERROR_MAP;
}

static bool is_marker(uint64_t word) {
        return word >= (uint64_t)PERF_CONTEXT_MAX;
}

/* The first address behind a marker is the one that was executed; all others are return addresses. */
static UnwindError add_chain(PerfSampler *sampler, const PerfSample *sample, PerfProcess *process) {
        UnwindError error = UNWIND_ERROR_NONE;
        uint64_t context = 0;
        bool is_first = true;

        for (size_t i = 0; i < sample->n_chain; i++) {
                const uint64_t word = perf_word(sample->chain, i);

                if (is_marker(word)) {
                        context = word;
                        is_first = true;
                        continue;
                }
                if (context == (uint64_t)PERF_CONTEXT_KERNEL)
                        stack_table_add(
                                &sampler->writer.stacks, &sampler->kernel.module, word - !is_first);
                else if (context == (uint64_t)PERF_CONTEXT_USER)
                        error = add_chained(sampler, process, word - !is_first);
                is_first = false;
        }
        return error;
}

/*
 * Unwinding
 */

static UnwindRegisters registers_of(const PerfSample *sample) {
        /* Places of DWARF's registers 0, 1, … in the kernel's array. */
        static const uint8_t order[] = { 0, 3, 2, 1, 4, 5, 6, 7, 12, 13, 14, 15, 16, 17, 18, 19 };
        UnwindRegisters registers = {
                .pc = perf_word(sample->registers, 8),
                .known = (UINT64_C(1) << ARRAY_SIZE(order)) - 1,
        };

        for (size_t i = 0; i < ARRAY_SIZE(order); i++)
                registers.values[i] = perf_word(sample->registers, order[i]);
        return registers;
}

/* The kernel copies a stack up to the first page that was never touched, as within a large array. So it may go on also
 * above a piece that is not cut; but a walk along frame pointers that leaves the piece has rather gone astray. */
static UnwindError error_of(UnwindEnd end, const PerfSample *sample, bool by_pointer) {
        switch (end) {
        case UNWIND_COMPLETE:
                return UNWIND_ERROR_NONE;
        case UNWIND_UNREAD:
                return UNWIND_ERROR_ELF;
        case UNWIND_STACK_SHORT:
                return sample->is_stack_cut || !by_pointer ? UNWIND_ERROR_MEMORY
                                                           : UNWIND_ERROR_UNWIND_INFO;
        case UNWIND_NO_CODE:
                return UNWIND_ERROR_MAP;
        case UNWIND_TOO_DEEP:
                return UNWIND_ERROR_MAX_FRAMES;
        default:
                return UNWIND_ERROR_UNWIND_INFO;
        }
}

static UnwindEnd walk_by(PerfSampler *sampler,
                         const PerfSample *sample,
                         const PerfProcess *process,
                         const UnwindRow *innermost) {
        const UnwindRegisters registers = registers_of(sample);
        const UnwindStack stack = { registers.values[7], sample->stack, sample->n_stack };
        UnwindEnd end;

        for (unsigned i = 0; i < READS_MAX; i++) {
                end = unwinder_run_by(
                        sampler->unwinder, &process->space, &registers, &stack, innermost);
                if (end != UNWIND_UNREAD || !read_file(sampler, process, sampler->unwinder->needs))
                        return end;
        }
        return UNWIND_UNREAD;
}

/* Where frame pointers do not lead out of code without rows, its instructions may. What they say is believed if the
 * stack can be walked to its end. */
static UnwindEnd walk(PerfSampler *sampler, const PerfSample *sample, const PerfProcess *process) {
        const UnwindEnd end = walk_by(sampler, sample, process, NULL);
        UnwindRow row;

        if (end == UNWIND_COMPLETE || end == UNWIND_UNREAD || !sampler->unwinder->is_rowless ||
            !perf_pieces_row(&sampler->pieces,
                             &row,
                             process,
                             sampler->unwinder->architecture,
                             sampler->unwinder->frames[0].pc,
                             sampler->wait_until_ns))
                return end;
        if (walk_by(sampler, sample, process, &row) != UNWIND_COMPLETE)
                return walk_by(sampler, sample, process, NULL);
        sampler->counts.n_by_code++;
        return UNWIND_COMPLETE;
}

static bool is_code(const PerfProcess *process, uint64_t pc) {
        return address_space_find(&process->space, pc);
}

/* A thread that becomes another program, or ends, has given up its memory, and only has the kernel's stack. The
 * kernel's functions tell whether it is such a thread. */
static bool is_bare(const PerfSample *sample) {
        return sample->n_stack == 0 && sample->mode == PERF_RECORD_MISC_KERNEL;
}

static UnwindError add_stack(PerfSampler *sampler, const PerfSample *sample, PerfProcess *process) {
        const Unwinder *unwinder = sampler->unwinder;
        const uint64_t n_by_pointer = unwinder->n_steps_by_pointer;
        UnwindEnd end;

        if (is_bare(sample) && sampler->settings->has_owner)
                return UNWIND_ERROR_NONE;
        if (sample->abi ==
            PERF_SAMPLE_REGS_ABI_NONE) /* the kernel's own thread, or one that ends */
                return UNWIND_ERROR_NONE;
        if (sample->abi != PERF_SAMPLE_REGS_ABI_64)
                return UNWIND_ERROR_ARCHITECTURE;
        end = walk(sampler, sample, process);
        for (size_t i = 0; i < unwinder->n_frames; i++)
                add_user_frame(sampler,
                               process,
                               &unwinder->frames[i],
                               !unwinder->frames[i].file &&
                                       is_code(process, unwinder->frames[i].pc));
        sampler->counts.n_stacks += !is_bare(sample);
        sampler->counts.n_complete += end == UNWIND_COMPLETE;
        return error_of(end, sample, unwinder->n_steps_by_pointer > n_by_pointer);
}

/*
 * Samples
 */

static void tell_names(PerfSampler *sampler, const PerfMoment *moment) {
        if (sampler->settings->is_own || sampler->settings->has_owner)
                perf_names_tell(&sampler->writer.names,
                                &sampler->writer.packets,
                                moment->pid,
                                moment->tid,
                                moment->time_ns,
                                sampler->settings->clock_id);
}

static void forget_names(PerfSampler *sampler,
                         const struct perf_event_header *header,
                         const void *record,
                         size_t n_bytes) {
        const char *name;
        PerfTask task;
        pid_t pid;

        if (header->type == PERF_RECORD_FORK && perf_task_parse(&task, record, n_bytes) == 0)
                perf_names_forget(&sampler->writer.names, task.tid);
        if (header->type == PERF_RECORD_COMM && perf_comm_parse(&pid, &name, record, n_bytes) == 0)
                perf_names_forget(&sampler->writer.names, pid);
}

static bool is_kernel_named(const StackPart *part, const char *const prefixes[], size_t n) {
        for (size_t i = 0; part->module->id == MODULE_KERNEL && i < n; i++)
                if (strncmp(part->name, prefixes[i], strlen(prefixes[i])) == 0)
                        return true;
        return false;
}

/* The innermost functions that are the same wherever a tracepoint is met. */
static bool is_tracing(const StackPart *part) {
        static const char *const prefixes[] = { "__traceiter_", "perf_trace_", "__bpf_trace_" };

        return is_kernel_named(part, prefixes, ARRAY_SIZE(prefixes));
}

/* The same, wherever a thread goes to sleep. */
static bool is_scheduling(const StackPart *part) {
        static const char *const prefixes[] = { "__schedule", "schedule", "io_schedule" };

        return is_kernel_named(part, prefixes, ARRAY_SIZE(prefixes));
}

/* Assembles the stack. Its frames may be new to the trace, and those of the kernel have no names yet. */
static UnwindError add_all(PerfSampler *sampler, const PerfSample *sample, PerfProcess *process) {
        UnwindError error = add_chain(sampler, sample, process);

        if (sampler->layout.has_stack)
                error = add_stack(sampler, sample, process);
        if (error != UNWIND_ERROR_NONE)
                add_cut(sampler);
        return error;
}

/* Completes the current stack once its frames have names. */
static void finish_stack(PerfSampler *sampler, PerfMoment *moment) {
        StackTable *stacks = &sampler->writer.stacks;

        perf_kernel_name(&sampler->kernel, stacks);
        if (sampler->settings->weight.source)
                stack_table_trim(stacks, is_tracing);
        if (sampler->settings->is_off_cpu)
                stack_table_trim(stacks, is_scheduling);
        if (moment->is_bare && perf_kernel_has_given_up(&sampler->kernel, stacks)) {
                perf_kernel_leave_alone(&sampler->kernel, stacks);
                moment->error = UNWIND_ERROR_NONE;
        }
}

/* Names of generated code may be forgotten with their process. */
static bool is_lasting(const StackPart *part) {
        return part->module->id != MODULE_JIT;
}

static void write_finished(PerfSampler *sampler, PerfMoment moment, uint64_t weight) {
        finish_stack(sampler, &moment);
        if (sampler->settings->weight.source)
                perf_writer_weigh(&sampler->writer, &moment, weight);
        else
                perf_writer_sample(&sampler->writer, &moment);
}

/* Writes the sample with the current stack. While the kernel's names are being read, samples are held as long as there
 * is room; after that this waits for the names. */
static void write_moment(PerfSampler *sampler, const PerfMoment *moment, uint64_t weight) {
        sampler->counts.n_samples++;
        if (!perf_kernel_is_reading(&sampler->kernel) ||
            !perf_held_add(&sampler->held, moment, weight, &sampler->writer.stacks, is_lasting))
                write_finished(sampler, *moment, weight);
}

void perf_sampler_settle(PerfSampler *sampler) {
        HeldSample *held;

        while ((held = perf_held_take(&sampler->held))) {
                perf_writer_begin(&sampler->writer, held->moment.time_ns);
                kept_stack_put(&held->stack, &sampler->writer.stacks);
                write_finished(sampler, held->moment, held->weight);
                held_sample_free(held);
        }
}

static PerfMoment moment_of(const PerfSample *sample) {
        return (PerfMoment){
                .time_ns = sample->time_ns,
                .pid = sample->pid,
                .tid = sample->tid,
                .cpu = sample->cpu,
                .mode = sample->mode,
                .is_bare = is_bare(sample),
        };
}

static void write_sample(PerfSampler *sampler, const PerfSample *sample, PerfProcess *process) {
        PerfMoment moment = moment_of(sample);

        perf_writer_begin(&sampler->writer, sample->time_ns);
        tell_names(sampler, &moment);
        moment.error = add_all(sampler, sample, process);
        write_moment(sampler, &moment, 1);
}

/*
 * Sleep
 */

static void write_sleep(PerfSampler *sampler, const PerfSleeper *sleeper, uint64_t end_ns) {
        if (end_ns < sleeper->moment.time_ns ||
            end_ns - sleeper->moment.time_ns < sampler->settings->min_off_ns)
                return;
        perf_writer_begin(&sampler->writer, sleeper->moment.time_ns);
        tell_names(sampler, &sleeper->moment);
        kept_stack_put(&sleeper->stack, &sampler->writer.stacks);
        write_moment(sampler, &sleeper->moment, end_ns - sleeper->moment.time_ns);
}

static void end_sleep(PerfSampler *sampler, PerfSleeper *sleeper, uint64_t end_ns) {
        write_sleep(sampler, sleeper, end_ns);
        perf_sleepers_end(&sampler->sleepers, sleeper);
}

static void take_sleeper(PerfSampler *sampler, const PerfSample *sample, PerfProcess *process) {
        StackTable *stacks = &sampler->writer.stacks;
        PerfMoment moment = moment_of(sample);
        PerfSleeper *sleeper;

        /* Names the thread now: it may wake only to end, and its name would be lost. */
        tell_names(sampler, &moment);
        stack_table_begin(stacks);
        moment.error = add_all(sampler, sample, process);
        if (!perf_kernel_is_reading(&sampler->kernel))
                finish_stack(sampler, &moment);
        sleeper = perf_sleepers_add(&sampler->sleepers, &moment, stacks, is_lasting);
        if (!sleeper)
                perf_writer_skip(&sampler->writer, sample->cpu, sample->time_ns);
        else if (sleeper->awake_ns > moment.time_ns)
                end_sleep(sampler, sleeper, sleeper->awake_ns);
}

static void take_switch(PerfSampler *sampler, const void *record, size_t n_bytes) {
        PerfSleeper *sleeper;
        PerfSwitch found;

        if (!sampler->settings->is_off_cpu || perf_switch_parse(&found, record, n_bytes) ||
            found.is_out)
                return;
        sleeper = perf_sleepers_wake(&sampler->sleepers, found.tid, found.time_ns);
        if (sleeper && found.time_ns > sleeper->moment.time_ns)
                end_sleep(sampler, sleeper, found.time_ns);
}

void perf_sampler_cut(PerfSampler *sampler, uint64_t time_ns) {
        PerfSleeper *sleeper;

        if (!sampler->settings->is_off_cpu)
                return;
        for (size_t at = 0; (sleeper = perf_sleepers_next(&sampler->sleepers, &at));) {
                if (sleeper->moment.time_ns >= time_ns)
                        continue;
                write_sleep(sampler, sleeper, time_ns);
                sleeper->moment.time_ns = time_ns;
        }
}

static void take_loss(PerfSampler *sampler, uint32_t cpu, uint64_t time_ns, uint64_t n) {
        perf_writer_loss(&sampler->writer, cpu, time_ns, n);
        sampler->counts.n_lost += n;
        if (sampler->settings->has_owner)
                perf_processes_doubt(&sampler->processes);
        if (sampler->settings->is_off_cpu)
                (void)perf_sleepers_clear(&sampler->sleepers);
}

static void forget_sleeper(PerfSampler *sampler, const void *record, size_t n_bytes) {
        PerfTask task;

        if (sampler->settings->is_off_cpu && perf_task_parse(&task, record, n_bytes) == 0)
                perf_sleepers_forget(&sampler->sleepers, task.tid);
}

/*
 * Records
 */

/* Counts a sample whose process has no room in the table. It is not counted in a recording of one user's programs: the
 * process may be another user's, and the count would tell how often that one runs. */
static void skip_sample(PerfSampler *sampler, const PerfSample *sample) {
        if (!sampler->settings->has_owner)
                perf_writer_skip(&sampler->writer, sample->cpu, sample->time_ns);
}

static void take_sample(PerfSampler *sampler, const PerfSample *sample) {
        PerfProcess *process;

        if (sample->pid <= 0) /* nothing runs */
                return;
        process = perf_processes_get(&sampler->processes, sample->pid);
        if (process && perf_process_has_ended(process) && !is_bare(sample))
                process = perf_processes_revive(&sampler->processes, process);
        if (!process) {
                skip_sample(sampler, sample);
                return;
        }
        wait_for_process(sampler, process);
        if (!perf_process_is_settled(&sampler->processes, process)) {
                sampler->counts.n_unsettled++;
                if (sampler->settings->has_owner)
                        return;
        }
        if (!perf_process_is_in_scope(&sampler->processes, process))
                return;
        if (sampler->settings->is_off_cpu)
                take_sleeper(sampler, sample, process);
        else
                write_sample(sampler, sample, process);
}

void perf_sampler_take(PerfSampler *sampler,
                       const void *record,
                       size_t n_bytes,
                       uint32_t cpu,
                       uint64_t time_ns) {
        struct perf_event_header header;
        PerfSample sample;
        uint64_t n_lost;

        memcpy(&header, record, sizeof(header));
        switch (header.type) {
        case PERF_RECORD_SAMPLE:
                if (perf_sample_parse(&sample, &sampler->layout, record, n_bytes) == 0)
                        take_sample(sampler, &sample);
                else
                        sampler->counts.n_bad++;
                break;
        case PERF_RECORD_LOST:
                if (perf_lost_parse(&n_lost, record, n_bytes) == 0)
                        take_loss(sampler, cpu, time_ns, n_lost);
                break;
        case PERF_RECORD_SWITCH_CPU_WIDE:
                take_switch(sampler, record, n_bytes);
                break;
        case PERF_RECORD_EXIT:
                forget_sleeper(sampler, record, n_bytes);
                perf_processes_follow(&sampler->processes, record, n_bytes);
                break;
        default:
                forget_names(sampler, &header, record, n_bytes);
                perf_processes_follow(&sampler->processes, record, n_bytes);
        }
}

/*
 * Drains
 */

void perf_sampler_begin(PerfSampler *sampler) {
        take_loads(sampler);
        if (!perf_kernel_is_reading(&sampler->kernel))
                perf_sampler_settle(sampler);
        sampler->wait_until_ns = loader_now_ns() + PERF_WAIT_NS;
}

/* A sleeper's stack may refer to files that nobody has mapped any longer. */
static void mark_sleepers(PerfSampler *sampler) {
        PerfSleeper *sleeper;

        for (size_t at = 0; sampler->settings->is_off_cpu &&
                            (sleeper = perf_sleepers_next(&sampler->sleepers, &at));)
                for (size_t i = 0; i < sleeper->stack.n_parts; i++)
                        if (sleeper->stack.parts[i].module->id > MODULE_CUT)
                                container_of(sleeper->stack.parts[i].module, PerfFile, stack)
                                        ->is_marked = true;
}

void perf_sampler_end(PerfSampler *sampler) {
        perf_processes_forget(&sampler->processes, loader_now_ns());
        perf_code_shrink(&sampler->code);
        if (sampler->code.n_files == PERF_FILES_MAX) {
                perf_sampler_settle(sampler); /* held samples refer to files */
                perf_processes_mark(&sampler->processes);
                mark_sleepers(sampler);
                perf_code_sweep(&sampler->code);
        }
}

void perf_sampler_clear(PerfSampler *sampler) {
        perf_writer_clear(&sampler->writer);
}
