/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A library with points for test-points-live.c. The functions begin as its table of points expects.
 */

#include <stddef.h>

#include "pointed.h"

#define EXPORT __attribute__((__noinline__, __visibility__("default")))

EXPORT int pointed_step(Pointed *pointed, int value) {
        __asm__ volatile("" : "+r"(value));
        return pointed->number + value;
}

#if defined(__x86_64__)
/* endbr64; push */
__asm__(".globl pointed_outer\n.type pointed_outer, @function\n"
        "pointed_outer:\n"
        ".byte 0xf3, 0x0f, 0x1e, 0xfa\n push %rbx\n mov %rdi, %rbx\n call pointed_inner@PLT\n"
        " mov %rbx, %rdi\n call pointed_inner@PLT\n pop %rbx\n ret\n"
        ".size pointed_outer, . - pointed_outer\n"
        /* test; je */
        ".globl pointed_inner\n.type pointed_inner, @function\n"
        "pointed_inner:\n test %rdi, %rdi\n je 1f\n mov $1, %eax\n ret\n1: xor %eax, %eax\n ret\n"
        ".size pointed_inner, . - pointed_inner\n"
        /* sub: expensive */
        ".globl pointed_slow\n.type pointed_slow, @function\n"
        "pointed_slow:\n sub $8, %rsp\n add $8, %rsp\n ret\n"
        ".size pointed_slow, . - pointed_slow\n"
        /* push */
        ".globl pointed_around\n.type pointed_around, @function\n"
        "pointed_around:\n push %rbx\n mov %rdi, %rax\n mov %rsi, %rdi\n call *%rax\n xor %eax, "
        "%eax\n"
        " pop %rbx\n ret\n"
        ".size pointed_around, . - pointed_around\n");
#else
EXPORT int pointed_inner(Pointed *pointed) {
        return pointed != NULL;
}

EXPORT int pointed_outer(Pointed *pointed) {
        return pointed_inner(pointed) + pointed_inner(pointed);
}

EXPORT int pointed_around(void (*back)(void *userdata), void *userdata) {
        back(userdata);
        return 0;
}

EXPORT void pointed_slow(void) {
        __asm__ volatile("");
}
#endif
