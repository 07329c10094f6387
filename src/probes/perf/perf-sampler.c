/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "probes/perf/perf-sampler.h"

#define READS_MAX 256u /* of files, for one stack */

/* perfetto.protos.TracePacketDefaults, PerfSampleDefaults, PerfEvents.Timebase */
enum {
        DEFAULTS_PERF_SAMPLE = 12,
        DEFAULTS_CLOCK_ID = 58,
        PERF_DEFAULTS_TIMEBASE = 1,
        TIMEBASE_PERIOD = 1,
        TIMEBASE_FREQUENCY = 2,
        TIMEBASE_TRACEPOINT = 3,
        TIMEBASE_COUNTER = 4,
        TRACEPOINT_NAME = 1,
        TRACEPOINT_FILTER = 2,
};

/* perfetto.protos.PerfSample */
enum {
        SAMPLE_CPU = 1,
        SAMPLE_PID = 2,
        SAMPLE_TID = 3,
        SAMPLE_CALLSTACK = 4,
        SAMPLE_CPU_MODE = 5,
        SAMPLE_UNWIND_ERROR = 16,
        SAMPLE_RECORDS_LOST = 17,
};

/* perfetto.protos.Profiling.StackUnwindError */
typedef enum UnwindError {
        ERROR_NONE = 0, /* of ours: not written */
        ERROR_MEMORY = 2,
        ERROR_UNWIND_INFO = 3,
        ERROR_MAP = 5,
        ERROR_MAX_FRAMES = 6,
        ERROR_ELF = 8,
        ERROR_ARCHITECTURE = 12,
} UnwindError;

/* Modules of our own; files have numbers from 64 on. */
enum {
        MODULE_KERNEL = 1,
        MODULE_JIT,
        MODULE_UNKNOWN,
        MODULE_CUT,
};

static StackModule own_module(uint32_t id, const char *path) {
        return (StackModule){ .id = id, .path = path };
}

int perf_sampler_init(PerfSampler *sampler,
                      const PerfSettings *settings,
                      KernelSymbols *kernel,
                      PacketSink *sink) {
        int r;

        *sampler = (PerfSampler){
                .settings = settings,
                .kernel = kernel,
                .frequency = settings->interval,
                .layout = {
                        .has_chain = settings->wants_kernel_frames || settings->kernel_walks,
                        .has_stack = settings->wants_user_frames && !settings->kernel_walks,
                },
                /* By this word viewers know the kernel's frames. */
                .kernel_module = own_module(MODULE_KERNEL, "kernel"),
                .jit_module = own_module(MODULE_JIT, "[jit]"),
                .unknown_module = own_module(MODULE_UNKNOWN, "[unknown]"),
                .cut_module = own_module(MODULE_CUT, "[truncated]"),
        };
        packet_writer_init(&sampler->packets, sink);
        r = unwinder_new(&sampler->unwinder, EM_X86_64);
        if (r >= 0)
                r = stack_table_init(&sampler->stacks);
        if (r >= 0 && settings->is_own)
                r = perf_names_init(&sampler->names);
        if (r >= 0)
                r = perf_code_init(&sampler->code, sampler->unwinder);
        if (r >= 0)
                r = perf_processes_init(&sampler->processes, &sampler->code, &settings->scope);
        return r;
}

void perf_sampler_deinit(PerfSampler *sampler) {
        perf_processes_deinit(&sampler->processes);
        perf_code_deinit(&sampler->code);
        stack_table_deinit(&sampler->stacks);
        perf_names_deinit(&sampler->names);
        unwinder_free(sampler->unwinder);
        kernel_symbols_free(sampler->kernel);
        packet_writer_deinit(&sampler->packets);
}

/*
 * What threads have read
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

static const Mapping *find_mapping(const AddressSpace *space, const CodeFile *file) {
        for (size_t i = 0; i < space->n_mappings; i++)
                if (space->mappings[i].file == file)
                        return &space->mappings[i];
        return NULL;
}

/* Has a file read, and waits for it within the time of this drain. Returns whether it is known now, for better or
 * worse. */
static bool read_file(PerfSampler *sampler, const PerfProcess *process, CodeFile *code) {
        const Mapping *mapping = find_mapping(&process->space, code);

        if (!mapping)
                return false;
        perf_code_request(&sampler->code, perf_file_of(code), process->pid, mapping);
        while (code->state == CODE_UNREAD && loader_is_busy(sampler->code.loader) &&
               loader_now_ns() < sampler->wait_until_ns) {
                loader_wait(sampler->code.loader, sampler->wait_until_ns);
                take_loads(sampler);
        }
        take_loads(sampler);
        return code->state != CODE_UNREAD;
}

/* A process that nobody has heard of: its samples wait for /proc as they do for a file. */
static void wait_for_process(PerfSampler *sampler, const PerfProcess *process) {
        while (!process->is_known && loader_is_busy(sampler->code.loader) &&
               loader_now_ns() < sampler->wait_until_ns) {
                loader_wait(sampler->code.loader, sampler->wait_until_ns);
                take_loads(sampler);
        }
}

/*
 * Frames
 */

static void add_kernel_frame(PerfSampler *sampler, uint64_t address) {
        const KernelSymbol *symbol =
                sampler->kernel ? kernel_symbols_find(sampler->kernel, address) : NULL;

        /* Never the address: it would tell where the kernel is. */
        if (symbol)
                stack_table_add_named(
                        &sampler->stacks, &sampler->kernel_module, symbol->address, symbol->name);
        else
                stack_table_add_named(&sampler->stacks, &sampler->kernel_module, 0, "[unknown]");
}

/* The first names of a process are waited for as its mappings are; those that come later are for later samples. */
static const JitName *find_jit_name(PerfSampler *sampler, PerfProcess *process, uint64_t address) {
        const JitName *name =
                perf_processes_jit(&sampler->processes, process, address, loader_now_ns());

        while (!name && !process->jit && process->is_jit_loading &&
               loader_is_busy(sampler->code.loader) && loader_now_ns() < sampler->wait_until_ns) {
                loader_wait(sampler->code.loader, sampler->wait_until_ns);
                take_loads(sampler);
                name = process->jit ? jit_names_find(process->jit, address) : NULL;
        }
        return name;
}

static void add_jit_frame(PerfSampler *sampler, PerfProcess *process, uint64_t address) {
        const JitName *name = find_jit_name(sampler, process, address);

        if (name)
                stack_table_add_named(
                        &sampler->stacks, &sampler->jit_module, name->key, name->text);
        else
                stack_table_add_named(&sampler->stacks, &sampler->jit_module, 0, "[jit]");
}

static void
add_user_frame(PerfSampler *sampler, PerfProcess *process, const UnwindFrame *frame, bool is_code) {
        PerfFile *file = perf_file_of(frame->file);

        if (file) {
                perf_code_use(&sampler->code, file);
                stack_table_add(&sampler->stacks, &file->stack, frame->address);
        } else if (is_code) {
                add_jit_frame(sampler, process, frame->pc);
        } else {
                stack_table_add_named(&sampler->stacks, &sampler->unknown_module, 0, "[unknown]");
        }
}

static void add_cut(PerfSampler *sampler) {
        stack_table_add_named(&sampler->stacks, &sampler->cut_module, 0, "[truncated]");
}

/* One of the user's addresses in the kernel's chain. */
static UnwindError add_chained(PerfSampler *sampler, PerfProcess *process, uint64_t address) {
        UnwindFrame frame;
        UnwindEnd end;

        end = unwinder_locate(sampler->unwinder, &frame, &process->space, address);
        if (end == UNWIND_UNREAD && read_file(sampler, process, sampler->unwinder->needs))
                end = unwinder_locate(sampler->unwinder, &frame, &process->space, address);
        add_user_frame(sampler, process, &frame, end == UNWIND_COMPLETE);
        return end == UNWIND_COMPLETE ? ERROR_NONE : ERROR_MAP;
}

static bool is_marker(uint64_t word) {
        return word >= (uint64_t)PERF_CONTEXT_MAX;
}

/* The first address behind a marker is where the processor was; all others are what calls return to. */
static UnwindError add_chain(PerfSampler *sampler, const PerfSample *sample, PerfProcess *process) {
        UnwindError error = ERROR_NONE;
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
                        add_kernel_frame(sampler, word - !is_first);
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
        /* Where the kernel puts what DWARF calls 0, 1, … */
        static const uint8_t order[] = { 0, 3, 2, 1, 4, 5, 6, 7, 12, 13, 14, 15, 16, 17, 18, 19 };
        UnwindRegisters registers = {
                .pc = perf_word(sample->registers, 8),
                .known = (UINT64_C(1) << ARRAY_SIZE(order)) - 1,
        };

        for (size_t i = 0; i < ARRAY_SIZE(order); i++)
                registers.values[i] = perf_word(sample->registers, order[i]);
        return registers;
}

static UnwindError error_of(UnwindEnd end, const PerfSample *sample) {
        switch (end) {
        case UNWIND_COMPLETE:
                return ERROR_NONE;
        case UNWIND_UNREAD:
                return ERROR_ELF;
        case UNWIND_STACK_SHORT: /* above a stack that is all there lies nothing: it was led astray */
                return sample->is_stack_cut ? ERROR_MEMORY : ERROR_UNWIND_INFO;
        case UNWIND_NO_CODE:
                return ERROR_MAP;
        case UNWIND_TOO_DEEP:
                return ERROR_MAX_FRAMES;
        default:
                return ERROR_UNWIND_INFO;
        }
}

static UnwindEnd walk(PerfSampler *sampler, const PerfSample *sample, const PerfProcess *process) {
        const UnwindRegisters registers = registers_of(sample);
        const UnwindStack stack = { registers.values[7], sample->stack, sample->n_stack };
        UnwindEnd end;

        for (unsigned i = 0; i < READS_MAX; i++) {
                end = unwinder_run(sampler->unwinder, &process->space, &registers, &stack);
                if (end != UNWIND_UNREAD || !read_file(sampler, process, sampler->unwinder->needs))
                        return end;
        }
        return UNWIND_UNREAD;
}

static bool is_code(const PerfProcess *process, uint64_t pc) {
        return address_space_find(&process->space, pc);
}

static bool is_among(const char *name, const char *const names[], size_t n_names) {
        const size_t n = strcspn(name, "."); /* what a compiler has added */

        for (size_t i = 0; i < n_names; i++)
                if (strlen(names[i]) == n && memcmp(name, names[i], n) == 0)
                        return true;
        return false;
}

/* A thread that becomes another program, or ends, has given up its memory: there is no stack but the kernel's. */
static bool is_without_stack(const PerfSampler *sampler, const PerfSample *sample) {
        static const char *const ends[] = { "begin_new_exec", "bprm_execve", "do_exit" };

        if (sample->n_stack > 0 || sample->mode != PERF_RECORD_MISC_KERNEL || !sampler->kernel)
                return false;
        for (size_t i = 0; i < sample->n_chain; i++) {
                const uint64_t word = perf_word(sample->chain, i);
                const KernelSymbol *symbol =
                        is_marker(word) ? NULL : kernel_symbols_find(sampler->kernel, word - 1);

                if (symbol && is_among(symbol->name, ends, ARRAY_SIZE(ends)))
                        return true;
        }
        return false;
}

static UnwindError add_stack(PerfSampler *sampler, const PerfSample *sample, PerfProcess *process) {
        const Unwinder *unwinder = sampler->unwinder;
        UnwindEnd end;

        if (is_without_stack(sampler, sample))
                return ERROR_NONE;
        if (sample->abi ==
            PERF_SAMPLE_REGS_ABI_NONE) /* the kernel's own thread, or one that ends */
                return ERROR_NONE;
        if (sample->abi != PERF_SAMPLE_REGS_ABI_64)
                return ERROR_ARCHITECTURE;
        end = walk(sampler, sample, process);
        for (size_t i = 0; i < unwinder->n_frames; i++)
                add_user_frame(sampler,
                               process,
                               &unwinder->frames[i],
                               is_code(process, unwinder->frames[i].pc));
        sampler->counts.n_stacks++;
        sampler->counts.n_complete += end == UNWIND_COMPLETE;
        return error_of(end, sample);
}

/*
 * Packets
 */

static void encode_timebase(const PerfSampler *sampler, WireWriter *wire) {
        const PerfSettings *settings = sampler->settings;
        size_t timebase = wire_begin(wire, PERF_DEFAULTS_TIMEBASE), tracepoint;

        wire_put_uint(wire,
                      settings->is_frequency ? TIMEBASE_FREQUENCY : TIMEBASE_PERIOD,
                      sampler->frequency);
        if (settings->tracepoint) {
                tracepoint = wire_begin(wire, TIMEBASE_TRACEPOINT);
                wire_put_string(wire, TRACEPOINT_NAME, settings->tracepoint);
                if (settings->filter)
                        wire_put_string(wire, TRACEPOINT_FILTER, settings->filter);
                wire_end(wire, tracepoint);
        } else if (settings->counter > 0) {
                wire_put_uint(wire, TIMEBASE_COUNTER, settings->counter);
        }
        wire_end(wire, timebase);
}

static void tell_state(PerfSampler *sampler, uint64_t time_ns) {
        WireWriter *wire;
        size_t defaults, perf;

        if (sampler->is_told)
                return;
        stack_table_clear(&sampler->stacks);
        perf_names_clear(&sampler->names);
        wire = packet_begin(&sampler->packets);
        wire_put_uint(wire, PACKET_TIMESTAMP, time_ns);
        wire_put_uint(wire, PACKET_TIMESTAMP_CLOCK_ID, sampler->settings->clock_id);
        wire_put_uint(wire, PACKET_SEQUENCE_FLAGS, PACKET_STATE_CLEARED);
        defaults = wire_begin(wire, PACKET_DEFAULTS);
        wire_put_uint(wire, DEFAULTS_CLOCK_ID, sampler->settings->clock_id);
        perf = wire_begin(wire, DEFAULTS_PERF_SAMPLE);
        encode_timebase(sampler, wire);
        wire_end(wire, perf);
        wire_end(wire, defaults);
        sampler->is_told = packet_end(&sampler->packets) >= 0;
}

static WireWriter *sample_begin(PerfSampler *sampler, uint64_t time_ns, size_t *ret_sample) {
        WireWriter *wire = packet_begin(&sampler->packets);
        const uint8_t *interned;
        size_t n_interned;

        wire_put_uint(wire, PACKET_TIMESTAMP, time_ns);
        wire_put_uint(wire, PACKET_SEQUENCE_FLAGS, PACKET_NEEDS_STATE);
        interned = stack_table_interned(&sampler->stacks, &n_interned);
        if (interned)
                wire_put_bytes(wire, PACKET_INTERNED_DATA, interned, n_interned);
        *ret_sample = wire_begin(wire, PACKET_PERF_SAMPLE);
        return wire;
}

/* What is not written has told the trace nothing. */
static void sample_end(PerfSampler *sampler, WireWriter *wire, size_t sample) {
        wire_end(wire, sample);
        if (packet_end(&sampler->packets) < 0)
                perf_sampler_clear(sampler);
}

static void write_sample(PerfSampler *sampler,
                         const PerfSample *sample,
                         uint32_t callstack,
                         UnwindError error) {
        size_t message;
        WireWriter *wire = sample_begin(sampler, sample->time_ns, &message);

        wire_put_uint(wire, SAMPLE_CPU, sample->cpu);
        wire_put_uint(wire, SAMPLE_PID, (uint32_t)sample->pid);
        wire_put_uint(wire, SAMPLE_TID, (uint32_t)sample->tid);
        if (callstack > 0)
                wire_put_uint(wire, SAMPLE_CALLSTACK, callstack);
        wire_put_uint(wire, SAMPLE_CPU_MODE, sample->mode);
        if (error != ERROR_NONE)
                wire_put_uint(wire, SAMPLE_UNWIND_ERROR, error);
        sample_end(sampler, wire, message);
}

static void write_loss(PerfSampler *sampler, uint32_t cpu, uint64_t time_ns, uint64_t n) {
        size_t message;
        WireWriter *wire;

        tell_state(sampler, time_ns);
        stack_table_begin(&sampler->stacks);
        wire = sample_begin(sampler, time_ns, &message);
        wire_put_uint(wire, SAMPLE_CPU, cpu);
        wire_put_uint(wire, SAMPLE_RECORDS_LOST, n);
        sample_end(sampler, wire, message);
        sampler->counts.n_lost += n;
}

static void tell_names(PerfSampler *sampler, const PerfSample *sample) {
        if (sampler->settings->is_own)
                perf_names_tell(&sampler->names,
                                &sampler->packets,
                                sample->pid,
                                sample->tid,
                                sample->time_ns,
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
                perf_names_forget(&sampler->names, task.tid);
        if (header->type == PERF_RECORD_COMM && perf_comm_parse(&pid, &name, record, n_bytes) == 0)
                perf_names_forget(&sampler->names, pid);
}

static void take_sample(PerfSampler *sampler, const PerfSample *sample) {
        UnwindError error = ERROR_NONE;
        PerfProcess *process;

        if (sample->pid <= 0) /* nothing runs */
                return;
        process = perf_processes_get(&sampler->processes, sample->pid);
        if (!process)
                return;
        wait_for_process(sampler, process);
        if (!perf_process_is_in_scope(&sampler->processes, process))
                return;
        if (!stack_table_has_room(&sampler->stacks))
                perf_sampler_clear(sampler);
        tell_state(sampler, sample->time_ns);
        tell_names(sampler, sample);
        stack_table_begin(&sampler->stacks);
        error = add_chain(sampler, sample, process);
        if (sampler->layout.has_stack)
                error = add_stack(sampler, sample, process);
        if (error != ERROR_NONE)
                add_cut(sampler);
        write_sample(sampler, sample, stack_table_end(&sampler->stacks), error);
        sampler->counts.n_samples++;
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
                        write_loss(sampler, cpu, time_ns, n_lost);
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
        sampler->wait_until_ns = loader_now_ns() + PERF_WAIT_NS;
}

void perf_sampler_end(PerfSampler *sampler) {
        perf_code_shrink(&sampler->code);
        if (sampler->code.n_files == PERF_FILES_MAX) {
                perf_processes_mark(&sampler->processes);
                perf_code_sweep(&sampler->code);
        }
}

void perf_sampler_clear(PerfSampler *sampler) {
        sampler->is_told = false;
}
