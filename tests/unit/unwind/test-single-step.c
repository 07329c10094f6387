/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A child runs one instruction at a time. Its calls and returns are counted as they happen, and after each instruction
 * the stack that the unwinder finds must be just these: in prologues and epilogues, in jumps of the PLT, in signal
 * handlers, and in functions that align their stack.
 */

#include <alloca.h>
#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "module-file.h"
#include "shared/macro.h"
#include "test.h"

#define STEPS_MAX   60000u
#define CALLS_MAX   256u
#define UNKNOWN_MAX 10u
#define STACK_BYTES (64u << 10)

/*
 * What the child does
 */

static volatile int sink;

static __attribute__((noinline)) int leaf(int n) {
        return n * 3 + sink;
}

static __attribute__((noinline)) int recurse(int n) {
        return n == 0 ? leaf(1) : recurse(n - 1) + leaf(n) + sink;
}

/* An array whose length nobody knows before: the frame is found by the frame pointer. */
static __attribute__((noinline)) int use_alloca(size_t n) {
        volatile char *bytes = alloca(n);

        bytes[n - 1] = (char)leaf((int)n);
        return bytes[n - 1] + recurse(2);
}

/* More alignment than the ABI gives: the compiler moves the stack pointer and keeps the old one elsewhere. */
static __attribute__((noinline)) int use_aligned(int n) {
        _Alignas(128) volatile char bytes[256];
        volatile char *more = alloca((size_t)n);

        bytes[n] = (char)leaf(n);
        more[0] = bytes[n];
        return more[0] + recurse(1);
}

static int compare(const void *a, const void *b) {
        return *(const int *)a - *(const int *)b + leaf(0) * 0;
}

static __attribute__((noinline)) int use_callbacks(void) {
        int numbers[] = { 5, 3, 9, 1, 7 };

        qsort(numbers, ARRAY_SIZE(numbers), sizeof(numbers[0]), compare);
        return numbers[0];
}

static __attribute__((noinline)) int use_library(void) {
        char text[64];
        struct timespec now;
        char *copy;

        clock_gettime(CLOCK_MONOTONIC, &now);
        snprintf(text, sizeof(text), "%.3f %d %s", 1.25, leaf(3), "text");
        copy = strdup(text);
        sink = (int)strtol(copy, NULL, 10);
        free(copy);
        return sink;
}

static void on_signal(int number) {
        sink = recurse(2) + number;
}

static __attribute__((noinline)) int work(void) {
        int sum = recurse(4);

        sum += use_alloca(300) + use_aligned(7) + use_callbacks() + use_library();
        raise(SIGUSR1);
        return sum + leaf(sum);
}

static _Noreturn void run_child(void) {
        signal(SIGUSR1, on_signal);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        sink = work();
        _exit(0);
}

/*
 * What is known of its calls
 */

typedef struct Call {
        uint64_t address;
        bool is_interrupted; /* by a signal: the address is where it stood, not where a call returns to */
} Call;

typedef struct World {
        pid_t pid;
        struct user_regs_struct registers;
        uint8_t stack[STACK_BYTES];
        UnwindStack piece;
        Call calls[CALLS_MAX];
        size_t n_calls;
        bool is_counting; /* from the first instruction of work() on */
        TestFiles files;
        AddressSpace space;
        Unwinder *unwinder;
        size_t n_compared;
        size_t n_wrong;
        size_t n_unknown; /* the C library runs into the padding between two of its functions, which has no row */
} World;

static void look(World *world) {
        struct iovec here = { world->stack, sizeof(world->stack) }, there;
        ssize_t n = -1;

        ck_assert_int_eq(ptrace(PTRACE_GETREGS, world->pid, NULL, &world->registers), 0);
        /* What lies above the stack cannot be read: less then. */
        for (; n < 0 && here.iov_len >= 4096; here.iov_len -= 4096) {
                there = (struct iovec){ (void *)world->registers.rsp, here.iov_len };
                n = process_vm_readv(world->pid, &here, 1, &there, 1, 0);
        }
        ck_assert_int_gt(n, 0);
        world->piece = (UnwindStack){ world->registers.rsp, world->stack, (size_t)n };
}

static uint64_t top_word(const World *world) {
        uint64_t word;

        memcpy(&word, world->stack, sizeof(word));
        return word;
}

static void push(World *world, uint64_t address, bool is_interrupted) {
        ck_assert_uint_lt(world->n_calls, CALLS_MAX);
        world->calls[world->n_calls++] = (Call){ address, is_interrupted };
}

static void pop(World *world, uint64_t expected) {
        ck_assert_uint_gt(world->n_calls, 0);
        world->n_calls--;
        ck_assert_uint_eq(world->calls[world->n_calls].address, expected);
}

/* The child is a fork: its code is at our own addresses. */
static const uint8_t *skip_prefixes(uint64_t pc) {
        const uint8_t *code = (const uint8_t *)pc;

        while (*code == 0xf2 || *code == 0xf3 || *code == 0x3e || *code == 0x66 ||
               (*code & 0xf0) == 0x40)
                code++;
        return code;
}

static bool is_call(const uint8_t *code) {
        return code[0] == 0xe8 || (code[0] == 0xff && (code[1] >> 3 & 7) == 2);
}

static bool is_return(const uint8_t *code) {
        return code[0] == 0xc3 || code[0] == 0xc2;
}

/* "nop" of many bytes. */
static bool is_padding(uint64_t pc) {
        const uint8_t *code = (const uint8_t *)pc;

        while (*code == 0x66 || *code == 0x2e)
                code++;
        return code[0] == 0x0f && code[1] == 0x1f;
}

static bool is_system_call(const uint8_t *code) {
        return code[0] == 0x0f && code[1] == 0x05;
}

/* What the instruction at `before` has done. */
static void follow(World *world, const struct user_regs_struct *before) {
        const uint8_t *code = skip_prefixes(before->rip);
        const uint64_t sigreturn = 15;

        if (!world->is_counting)
                return;
        if (is_call(code))
                push(world, top_word(world), false);
        else if (is_return(code))
                pop(world, world->registers.rip);
        else if (is_system_call(code) && before->rax == sigreturn)
                pop(world, world->registers.rip);
}

/* Runs one instruction: false when the child has ended. A signal that arrives is passed on, and stops at the first
 * instruction of its handler. */
static bool step(World *world) {
        const struct user_regs_struct before = world->registers;
        int status;

        ptrace(PTRACE_SINGLESTEP, world->pid, NULL, NULL);
        ck_assert_int_eq(waitpid(world->pid, &status, 0), world->pid);
        if (!WIFSTOPPED(status))
                return false;
        look(world);
        if (WSTOPSIG(status) == SIGTRAP) {
                follow(world, &before);
                return true;
        }
        push(world, world->registers.rip, true);
        ptrace(PTRACE_SINGLESTEP, world->pid, NULL, WSTOPSIG(status));
        ck_assert_int_eq(waitpid(world->pid, &status, 0), world->pid);
        look(world);
        push(world, top_word(world), false);
        return true;
}

/*
 * Comparing
 */

static UnwindEnd unwind(World *world) {
        const struct user_regs_struct *user = &world->registers;
        const uint64_t values[] = { user->rax, user->rdx, user->rcx, user->rbx,
                                    user->rsi, user->rdi, user->rbp, user->rsp,
                                    user->r8,  user->r9,  user->r10, user->r11,
                                    user->r12, user->r13, user->r14, user->r15 };
        UnwindRegisters registers = { .pc = user->rip, .known = 0xffff };

        memcpy(registers.values, values, sizeof(values));
        return unwinder_run(world->unwinder, &world->space, &registers, &world->piece);
}

static bool stack_is_right(World *world) {
        const UnwindFrame *frames = world->unwinder->frames;

        if (unwind(world) != UNWIND_COMPLETE || world->unwinder->n_frames <= world->n_calls ||
            frames[0].pc != world->registers.rip)
                return false;
        for (size_t i = 0; i < world->n_calls; i++) {
                const Call *call = &world->calls[world->n_calls - 1 - i];

                if (frames[i + 1].pc != call->address - !call->is_interrupted)
                        return false;
        }
        return true;
}

static void compare_stack(World *world) {
        world->n_compared++;
        if (stack_is_right(world))
                return;
        if (is_padding(world->registers.rip)) {
                world->n_unknown++;
                return;
        }
        if (world->n_wrong++ < 10) {
                printf("# wrong at %llx: %zu frames for %zu calls\n",
                       world->registers.rip,
                       world->unwinder->n_frames,
                       world->n_calls);
                fflush(stdout); /* what ends a test does not */
        }
}

static void begin(World *world) {
        int status;

        fflush(stdout);
        world->pid = fork();
        ck_assert_int_ge(world->pid, 0);
        if (world->pid == 0)
                run_child();
        ck_assert_int_eq(waitpid(world->pid, &status, 0), world->pid);
        ck_assert(WIFSTOPPED(status));
        ck_assert_int_eq(unwinder_new(&world->unwinder, EM_X86_64), 0);
        address_space_init(&world->space);
        test_space_load(&world->space, &world->files, world->pid);
        look(world);
        while (world->registers.rip != (uint64_t)work)
                ck_assert(step(world));
        world->is_counting = true;
        push(world, top_word(world), false);
}

static void end(World *world) {
        kill(world->pid, SIGKILL);
        waitpid(world->pid, NULL, 0);
        for (size_t i = 0; i < world->files.n; i++)
                module_free(world->files.files[i].code.module);
        address_space_deinit(&world->space);
        unwinder_free(world->unwinder);
}

START_TEST(test_each_instruction_has_the_stack_that_the_calls_have_made) {
        World *world = calloc(1, sizeof(*world));

        begin(world);
        while (world->n_calls > 0 && world->n_compared < STEPS_MAX) {
                compare_stack(world);
                if (!step(world))
                        break;
        }
        printf("# %zu of %zu stacks are wrong, %zu unknown\n",
               world->n_wrong,
               world->n_compared,
               world->n_unknown);
        fflush(stdout);
        if (world->n_compared < STEPS_MAX) /* with sanitizers it takes more */
                ck_assert_uint_eq(world->n_calls, 0);
        ck_assert_uint_le(world->n_unknown, UNKNOWN_MAX);
        ck_assert_uint_gt(world->n_compared, 1000);
        ck_assert_uint_eq(world->n_wrong, 0);
        end(world);
        free(world);
}
END_TEST

TEST_MAIN("single-step", test_each_instruction_has_the_stack_that_the_calls_have_made)
