/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program with a malloc() of its own, and not all of its family: what is made of these functions elsewhere must be
 * made of the program's
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN      __attribute__((__visibility__("default")))
#define MAGIC      UINT64_C(0x6f776e206d616c6c)
#define POOL_BYTES (8u << 20)

typedef struct Head {
        uint64_t magic;
        size_t n_bytes;
} Head;

static _Alignas(16) char pool[POOL_BYTES];
static _Atomic size_t n_used;
static _Atomic size_t n_foreign; /* blocks that are not from here */

static Head *head_of(void *memory) {
        Head *head = (Head *)memory - 1;

        if ((char *)memory >= pool && (char *)memory < pool + POOL_BYTES && head->magic == MAGIC)
                return head;
        n_foreign++;
        return NULL;
}

SHOWN void *malloc(size_t n_bytes) {
        const size_t n_all = (n_bytes + sizeof(Head) + 15) & ~(size_t)15;
        const size_t at = n_used;
        Head *head = (Head *)(pool + at);

        if (n_bytes > POOL_BYTES || n_all > POOL_BYTES - at)
                return NULL;
        n_used = at + n_all;
        *head = (Head){ MAGIC, n_bytes };
        return head + 1;
}

/* Memory is never reused. */
SHOWN void free(void *memory) {
        if (memory)
                (void)head_of(memory);
}

SHOWN void *calloc(size_t n, size_t n_bytes) {
        return n_bytes && n > POOL_BYTES / n_bytes ? NULL : malloc(n * n_bytes);
}

SHOWN void *realloc(void *memory, size_t n_bytes) {
        const Head *head = memory ? head_of(memory) : NULL;
        void *bigger = malloc(n_bytes);

        if (bigger && head)
                memcpy(bigger, memory, head->n_bytes < n_bytes ? head->n_bytes : n_bytes);
        return bigger;
}

int main(void) {
        char *volatile memory = malloc(100);

        memcpy(memory, "text", 5);
        for (size_t i = 1; i < 100; i++)
                memory = reallocarray(memory, i, 100);
        if (n_foreign > 0 || strcmp(memory, "text") != 0 || !head_of(memory)) {
                printf("blocks of another allocator: %zu\n", (size_t)n_foreign);
                return 1;
        }
        puts("all is well");
        return 0;
}
