/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Point fetch: where an argument of a point is, in words that suit every machine */

#include <ctype.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/points/point-fetch.h"
#include "probes/points/point.h"
#include "shared/macro.h"

typedef struct Machine {
        uint16_t machine;
        const char *registers[POINT_REGISTERS];
} Machine;

static const Machine machines[] = {
        { EM_X86_64, { "di", "si", "dx", "cx", "r8", "r9" } },
        { EM_AARCH64, { "x0", "x1", "x2", "x3", "x4", "x5" } },
        { EM_RISCV, { "a0", "a1", "a2", "a3", "a4", "a5" } },
};

static const Machine *find_machine(uint16_t number) {
        for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
                if (machines[i].machine == number)
                        return &machines[i];
        return NULL;
}

bool point_machine_is_known(uint16_t machine) {
        return find_machine(machine);
}

uint16_t point_machine(void) {
#if defined(__x86_64__) && defined(__LP64__)
        return EM_X86_64;
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        return EM_AARCH64;
#elif defined(__riscv) && __riscv_xlen == 64
        return EM_RISCV;
#else
        return EM_NONE;
#endif
}

/* The length of one "+N(" or "+@symbol(" at `at`, or 0. */
static size_t step_length(const char *at) {
        size_t n = 1;
        char *end;

        if (*at != '+' && *at != '-')
                return 0;
        if (at[0] == '+' && at[1] == '@') {
                for (n = 2; isalnum((unsigned char)at[n]) || at[n] == '_'; n++)
                        ;
                return n > 2 && at[n] == '(' ? n + 1 : 0;
        }
        if (!isdigit((unsigned char)at[1]) || strtoul(at + 1, &end, 10) > POINT_OFFSET_MAX)
                return 0;
        return *end == '(' ? (size_t)(end - at) + 1 : 0;
}

/* Moves past all steps. Returns how many there were. */
static unsigned skip_steps(const char **at) {
        unsigned depth = 0;
        size_t n;

        for (; (n = step_length(*at)) > 0; *at += n)
                depth++;
        return depth;
}

bool point_fetch_is_valid(const char *where) {
        const char *at = where;
        unsigned depth = skip_steps(&at);

        if (strlen(where) >= POINT_WHERE_BYTES || depth > POINT_FETCH_DEPTH_MAX ||
            strncmp(at, "arg", 3) != 0 || at[3] < '1' || at[3] >= '1' + POINT_REGISTERS)
                return false;
        return strspn(at + 4, ")") == depth && at[4 + depth] == '\0';
}

static bool put_step(char **to,
                     size_t *n_left,
                     const char *at,
                     size_t n,
                     PointFieldFind *find,
                     void *userdata) {
        char symbol[POINT_WHERE_BYTES];
        uint32_t offset;
        int n_put;

        if (at[1] == '@') {
                snprintf(symbol, sizeof(symbol), "%.*s", (int)(n - 3), at + 2);
                if (!find || !find(userdata, symbol, &offset))
                        return false;
                n_put = snprintf(*to, *n_left, "+%u(", offset);
        } else {
                n_put = snprintf(*to, *n_left, "%.*s", (int)n, at);
        }
        if (n_put < 0 || (size_t)n_put >= *n_left)
                return false;
        *to += n_put;
        *n_left -= (size_t)n_put;
        return true;
}

bool point_fetch_make(char ret[static POINT_FETCH_BYTES],
                      const char *where,
                      uint16_t number,
                      PointFieldFind *find,
                      void *userdata) {
        const Machine *machine = find_machine(number);
        size_t n_left = POINT_FETCH_BYTES, n;
        char *to = ret;
        int n_put;

        if (!machine)
                return false;
        for (; (n = step_length(where)) > 0; where += n)
                if (!put_step(&to, &n_left, where, n, find, userdata))
                        return false;
        n_put = snprintf(to, n_left, "%%%s%s", machine->registers[where[3] - '1'], where + 4);
        return n_put > 0 && (size_t)n_put < n_left;
}

static uint32_t load_word(const uint8_t *at) {
        uint32_t word;

        memcpy(&word, at, sizeof(word));
        return word;
}

/* mov disp32(%rdi),%eax or mov disp8(%rdi),%eax. Bytes of other instructions could look like this, but not in a
 * function that does nothing else. */
static bool field_offset_x86_64(const uint8_t *code, size_t n, uint32_t *ret) {
        for (size_t i = 0; i + 6 <= n && code[i] != 0xc3; i++) {
                if (code[i] != 0x8b)
                        continue;
                if (code[i + 1] == 0x87)
                        *ret = load_word(code + i + 2);
                else if (code[i + 1] == 0x47)
                        *ret = code[i + 2];
                else
                        continue;
                return *ret <= POINT_OFFSET_MAX;
        }
        return false;
}

/* ldr wN, [x0, #imm] */
static bool field_offset_aarch64(const uint8_t *code, size_t n, uint32_t *ret) {
        for (size_t i = 0; i + 4 <= n; i += 4) {
                uint32_t word = load_word(code + i);

                if ((word & 0xffc003e0) == 0xb9400000) {
                        *ret = (word >> 10 & 0xfff) * 4;
                        return true;
                }
        }
        return false;
}

bool point_field_offset(uint16_t machine, const uint8_t *code, size_t n, uint32_t *ret) {
        if (machine == EM_X86_64)
                return field_offset_x86_64(code, n, ret);
        return machine == EM_AARCH64 && field_offset_aarch64(code, n, ret);
}
