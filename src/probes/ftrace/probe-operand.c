/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Probe operand: translates the operands of static probes into the kernel's syntax for arguments of uprobes */

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/ftrace/probe-operand.h"
#include "shared/macro.h"

#define REGISTER_BYTES 8

/* One operand, or the rest of one. */
typedef struct Text {
        const char *at, *end;
} Text;

static bool take(Text *text, char c) {
        if (text->at == text->end || *text->at != c)
                return false;
        text->at++;
        return true;
}

static void take_blanks(Text *text) {
        while (take(text, ' '))
                ;
}

static bool take_number(Text *text, int64_t *ret) {
        char *end;

        /* strtoll() accepts blanks and a plus before a number. */
        if (text->at == text->end || !(isdigit((unsigned char)*text->at) || *text->at == '-'))
                return false;
        errno = 0;
        *ret = strtoll(text->at, &end, 0);
        if (errno || end == text->at || end > text->end)
                return false;
        text->at = end;
        return true;
}

static bool take_word(Text *text, char ret[static REGISTER_BYTES]) {
        size_t n = 0;

        while (text->at + n < text->end && isalnum((unsigned char)text->at[n]))
                n++;
        if (n == 0 || n >= REGISTER_BYTES)
                return false;
        memcpy(ret, text->at, n);
        ret[n] = '\0';
        text->at += n;
        return true;
}

/*
 * x86
 */

/* The kernel has one name for a register and its parts: "ax" is %rax, %eax, %ax and %al. */
/* clang-format off */
static const struct {
        const char *kernel;
        const char *names[4];
} x86_registers[] = {
        { "ax", { "rax", "eax", "ax", "al" } },
        { "bx", { "rbx", "ebx", "bx", "bl" } },
        { "cx", { "rcx", "ecx", "cx", "cl" } },
        { "dx", { "rdx", "edx", "dx", "dl" } },
        { "si", { "rsi", "esi", "si", "sil" } },
        { "di", { "rdi", "edi", "di", "dil" } },
        { "bp", { "rbp", "ebp", "bp", "bpl" } },
        { "sp", { "rsp", "esp", "sp", "spl" } },
        { "r8", { "r8", "r8d", "r8w", "r8b" } },
        { "r9", { "r9", "r9d", "r9w", "r9b" } },
        { "r10", { "r10", "r10d", "r10w", "r10b" } },
        { "r11", { "r11", "r11d", "r11w", "r11b" } },
        { "r12", { "r12", "r12d", "r12w", "r12b" } },
        { "r13", { "r13", "r13d", "r13w", "r13b" } },
        { "r14", { "r14", "r14d", "r14w", "r14b" } },
        { "r15", { "r15", "r15d", "r15w", "r15b" } },
};
/* clang-format on */

static const char *take_x86_register(Text *text) {
        char name[REGISTER_BYTES];

        if (!take(text, '%') || !take_word(text, name))
                return NULL;
        for (size_t i = 0; i < ARRAY_SIZE(x86_registers); i++)
                for (size_t k = 0; k < ARRAY_SIZE(x86_registers[i].names); k++)
                        if (streq(name, x86_registers[i].names[k]))
                                return x86_registers[i].kernel;
        return NULL;
}

/* "%eax", "$-5", "-8(%rbp)". */
static bool parse_x86(Text *text, char ret[static PROBE_OPERAND_BYTES]) {
        const char *name;
        int64_t number = 0;

        if (take(text, '$')) {
                if (!take_number(text, &number))
                        return false;
                snprintf(ret, PROBE_OPERAND_BYTES, "\\%" PRId64, number);
                return true;
        }
        if (text->at < text->end && *text->at == '%') {
                name = take_x86_register(text);
                if (name)
                        snprintf(ret, PROBE_OPERAND_BYTES, "%%%s", name);
                return name;
        }
        (void)take_number(text, &number);
        if (!take(text, '('))
                return false;
        name = take_x86_register(text);
        if (!name || !take(text, ')'))
                return false;
        snprintf(ret, PROBE_OPERAND_BYTES, "%+" PRId64 "(%%%s)", number, name);
        return true;
}

/*
 * 64-bit ARM
 */

/* "x0" to "x30", or "w0" for its lower half, and "sp". */
static bool take_arm_register(Text *text, char ret[static REGISTER_BYTES]) {
        char name[REGISTER_BYTES];

        if (!take_word(text, name))
                return false;
        if (streq(name, "sp")) {
                snprintf(ret, REGISTER_BYTES, "sp");
                return true;
        }
        if ((name[0] != 'x' && name[0] != 'w') || !isdigit((unsigned char)name[1]) ||
            strspn(name + 1, "0123456789") != strlen(name + 1) || strlen(name) > 3 ||
            atoi(name + 1) > 30)
                return false;
        snprintf(ret, REGISTER_BYTES, "x%d", atoi(name + 1));
        return true;
}

/* "x3", "-5", "[sp]", "[x29, 16]". */
static bool parse_arm(Text *text, char ret[static PROBE_OPERAND_BYTES]) {
        char name[REGISTER_BYTES];
        int64_t number = 0;

        if (take_number(text, &number)) {
                snprintf(ret, PROBE_OPERAND_BYTES, "\\%" PRId64, number);
                return true;
        }
        if (!take(text, '[')) {
                if (!take_arm_register(text, name))
                        return false;
                snprintf(ret, PROBE_OPERAND_BYTES, "%%%s", name);
                return true;
        }
        if (!take_arm_register(text, name))
                return false;
        if (take(text, ',')) {
                take_blanks(text);
                (void)take(text, '#');
                if (!take_number(text, &number))
                        return false;
        }
        if (!take(text, ']'))
                return false;
        snprintf(ret, PROBE_OPERAND_BYTES, "%+" PRId64 "(%%%s)", number, name);
        return true;
}

/*
 * All machines
 */

/* "-4@": signed, four bytes. */
static bool take_size(Text *text, char ret[static 8]) {
        static const char *const types[2][4] = { { "u8", "u16", "u32", "u64" },
                                                 { "s8", "s16", "s32", "s64" } };
        bool is_signed = take(text, '-');

        for (unsigned i = 0; i < 4; i++)
                if (text->at < text->end && *text->at == '0' + (1 << i)) {
                        text->at++;
                        snprintf(ret, 8, "%s", types[is_signed][i]);
                        return take(text, '@');
                }
        return false;
}

static void parse(ProbeOperand *ret, uint16_t machine, Text text) {
        bool is_known;

        *ret = (ProbeOperand){};
        if (!take_size(&text, ret->type))
                return;
        switch (machine) {
        case EM_X86_64:
        case EM_386:
                is_known = parse_x86(&text, ret->fetch);
                break;
        case EM_AARCH64:
                is_known = parse_arm(&text, ret->fetch);
                break;
        default:
                is_known = false;
        }
        if (!is_known || text.at != text.end)
                ret->fetch[0] = '\0';
}

/* Up to the next blank that is not in brackets. */
static const char *operand_end(const char *at) {
        bool is_inside = false;

        for (; *at && (is_inside || *at != ' '); at++)
                if (*at == '[' || *at == '(')
                        is_inside = true;
                else if (*at == ']' || *at == ')')
                        is_inside = false;
        return at;
}

size_t probe_operands_parse(ProbeOperand ret[static PROBE_OPERANDS_MAX],
                            uint16_t machine,
                            const char *text) {
        size_t n = 0;

        for (text += strspn(text, " "); *text && n < PROBE_OPERANDS_MAX;
             text += strspn(text, " ")) {
                const char *end = operand_end(text);

                parse(&ret[n++], machine, (Text){ .at = text, .end = end });
                text = end;
        }
        return n;
}
