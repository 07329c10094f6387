/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program that sleeps in known functions, for different times, and touches memory in another
 */

#include <poll.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#define ROUNDS      20
#define PAGE_BYTES  4096u
#define TOUCH_BYTES (8u << 20)

static volatile unsigned result;

/* What is done after a call keeps the call from being the last thing, which would be a jump. */
__attribute__((noinline)) void nap_30(void);
__attribute__((noinline)) void poll_10(void);
__attribute__((noinline)) void touch(void);

void nap_30(void) {
        nanosleep(&(struct timespec){ .tv_nsec = 30000000 }, NULL);
        result++;
}

void poll_10(void) {
        poll(NULL, 0, 10);
        result++;
}

void touch(void) {
        void *mapped =
                mmap(NULL, TOUCH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        volatile uint8_t *memory = mapped;

        if (mapped == MAP_FAILED)
                return;
        (void)madvise(mapped, TOUCH_BYTES, MADV_NOHUGEPAGE);
        for (size_t i = 0; i < TOUCH_BYTES; i += PAGE_BYTES)
                memory[i] = 1;
        munmap(mapped, TOUCH_BYTES);
        result++;
}

int main(void) {
        for (unsigned i = 0; i < ROUNDS; i++) {
                nap_30();
                poll_10();
        }
        touch(); /* by now the files are known that stacks go through */
        return 0;
}
