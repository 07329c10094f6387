/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Demangle, Rust: names of version 0 (RFC 2603) */

#include "symbols/demangle-rust.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"

typedef struct Rust {
        const char *start; /* behind "_R": what references count from */
        const char *at;
        char text[RUST_TEXT_BYTES_MAX];
        size_t n;
        unsigned depth;
        unsigned n_steps;
        unsigned n_silent; /* nothing is written while this is not 0 */
        bool failed;
} Rust;

static void read_path(Rust *rust, bool is_in_value);
static void read_type(Rust *rust);
static void read_const(Rust *rust);

static void put(Rust *rust, const char *text, size_t n) {
        if (rust->n_silent > 0 || rust->failed)
                return;
        if (n >= sizeof(rust->text) - rust->n) {
                rust->failed = true;
                return;
        }
        memcpy(rust->text + rust->n, text, n);
        rust->n += n;
}

static void put_text(Rust *rust, const char *text) {
        put(rust, text, strlen(text));
}

static void put_number(Rust *rust, uint64_t number) {
        char text[24];

        snprintf(text, sizeof(text), "%" PRIu64, number);
        put_text(rust, text);
}

static char next(Rust *rust) {
        if (rust->failed || *rust->at == '\0') {
                rust->failed = true;
                return '\0';
        }
        return *rust->at++;
}

static bool take(Rust *rust, char wanted) {
        if (rust->failed || *rust->at != wanted)
                return false;
        rust->at++;
        return true;
}

/* Each part counts, also when it is read again. */
static bool enter(Rust *rust) {
        rust->failed |= ++rust->depth > RUST_DEPTH_MAX || ++rust->n_steps > RUST_STEPS_MAX;
        return !rust->failed;
}

static void leave(Rust *rust) {
        rust->depth--;
}

/*
 * Numbers
 */

static int digit_62(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'z')
                return c - 'a' + 10;
        return c >= 'A' && c <= 'Z' ? c - 'A' + 36 : -1;
}

/* "_" is 0; otherwise one more than the digits. */
static uint64_t read_62(Rust *rust) {
        uint64_t number = 0;
        int digit;

        if (take(rust, '_'))
                return 0;
        while (!rust->failed && !take(rust, '_')) {
                digit = digit_62(next(rust));
                rust->failed |= digit < 0 || __builtin_mul_overflow(number, 62, &number) ||
                                __builtin_add_overflow(number, (uint64_t)digit, &number);
        }
        rust->failed |= number == UINT64_MAX;
        return rust->failed ? 0 : number + 1;
}

static uint64_t read_tagged(Rust *rust, char tag) {
        uint64_t number = take(rust, tag) ? read_62(rust) : UINT64_MAX;

        return number == UINT64_MAX ? 0 : number + 1;
}

static size_t read_decimal(Rust *rust) {
        size_t number = 0;

        if (*rust->at < '0' || *rust->at > '9')
                rust->failed = true;
        if (take(rust, '0'))
                return 0;
        while (!rust->failed && *rust->at >= '0' && *rust->at <= '9') {
                number = number * 10 + (size_t)(*rust->at++ - '0');
                rust->failed |= number > RUST_TEXT_BYTES_MAX;
        }
        return number;
}

/*
 * Names
 */

typedef struct Name {
        const char *text;
        size_t n;
        bool is_punycode;
        uint64_t number; /* index among equal ones; 0: there is only one */
} Name;

static Name read_name(Rust *rust) {
        Name name = { .text = "" };

        name.number = read_tagged(rust, 's');
        name.is_punycode = take(rust, 'u');
        name.n = read_decimal(rust);
        take(rust, '_');
        if (rust->failed || strnlen(rust->at, name.n) < name.n) {
                rust->failed = true;
                return (Name){ .text = "" };
        }
        name.text = rust->at;
        rust->at += name.n;
        return name;
}

/* Letters beyond ASCII stay as they are written in the file. */
static void put_name(Rust *rust, const Name *name) {
        if (name->is_punycode)
                put_text(rust, "punycode{");
        put(rust, name->text, name->n);
        if (name->is_punycode)
                put_text(rust, "}");
}

/* A reference to an earlier part of the name. */
static void read_back(Rust *rust, void (*read)(Rust *rust)) {
        const uint64_t offset = read_62(rust);
        const char *at = rust->at;

        /* It refers back only, so this ends. */
        if (rust->failed || offset >= (uint64_t)(at - rust->start)) {
                rust->failed = true;
                return;
        }
        rust->at = rust->start + offset;
        read(rust);
        rust->at = at;
}

/*
 * Paths
 */

static void read_path_in_type(Rust *rust) {
        read_path(rust, false);
}

static void read_path_in_value(Rust *rust) {
        read_path(rust, true);
}

static void read_lifetime(Rust *rust) {
        put_text(rust, read_62(rust) == 0 ? "'_" : "'a");
}

static void read_argument(Rust *rust) {
        if (take(rust, 'L'))
                read_lifetime(rust);
        else if (take(rust, 'K'))
                read_const(rust);
        else
                read_type(rust);
}

/* Up to the "E". Returns how many. */
static unsigned read_list(Rust *rust, void (*read)(Rust *rust), const char *between) {
        unsigned n = 0;

        while (!rust->failed && !take(rust, 'E')) {
                if (n++ > 0)
                        put_text(rust, between);
                read(rust);
        }
        return n;
}

static void read_impl_path(Rust *rust) {
        rust->n_silent++;
        read_tagged(rust, 's');
        read_path(rust, false);
        rust->n_silent--;
}

static void read_nested(Rust *rust, bool is_in_value) {
        const char space = next(rust);
        Name name;

        read_path(rust, is_in_value);
        name = read_name(rust);
        if (space >= 'A' && space <= 'Z') { /* its name, which the source does not have */
                put_text(rust, "::{");
                put_text(rust, space == 'C' ? "closure" : space == 'S' ? "shim" : "other");
                if (name.n > 0)
                        put_text(rust, ":");
                put_name(rust, &name);
                put_text(rust, "#");
                put_number(rust, name.number);
                put_text(rust, "}");
        } else if (name.n > 0) {
                put_text(rust, "::");
                put_name(rust, &name);
        }
}

static void read_generic(Rust *rust, bool is_in_value) {
        read_path(rust, is_in_value);
        put_text(rust, is_in_value ? "::<" : "<");
        read_list(rust, read_argument, ", ");
        put_text(rust, ">");
}

static void read_trait_impl(Rust *rust) {
        put_text(rust, "<");
        read_type(rust);
        put_text(rust, " as ");
        read_path(rust, false);
        put_text(rust, ">");
}

static void read_path(Rust *rust, bool is_in_value) {
        Name name;

        if (!enter(rust))
                return;
        switch (next(rust)) {
        case 'C':
                name = read_name(rust);
                put_name(rust, &name);
                break;
        case 'M':
                read_impl_path(rust);
                put_text(rust, "<");
                read_type(rust);
                put_text(rust, ">");
                break;
        case 'X':
                read_impl_path(rust);
                read_trait_impl(rust);
                break;
        case 'Y':
                read_trait_impl(rust);
                break;
        case 'N':
                read_nested(rust, is_in_value);
                break;
        case 'I':
                read_generic(rust, is_in_value);
                break;
        case 'B':
                read_back(rust, is_in_value ? read_path_in_value : read_path_in_type);
                break;
        default:
                rust->failed = true;
        }
        leave(rust);
}

/*
 * Types
 */

static const char *basic_type(char tag) {
        static const char *const names[] = {
                ['a' - 'a'] = "i8",   ['b' - 'a'] = "bool",  ['c' - 'a'] = "char",
                ['d' - 'a'] = "f64",  ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",
                ['h' - 'a'] = "u8",   ['i' - 'a'] = "isize", ['j' - 'a'] = "usize",
                ['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",   ['n' - 'a'] = "i128",
                ['o' - 'a'] = "u128", ['p' - 'a'] = "_",     ['s' - 'a'] = "i16",
                ['t' - 'a'] = "u16",  ['u' - 'a'] = "()",    ['v' - 'a'] = "...",
                ['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",   ['z' - 'a'] = "!",
        };

        return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

static void read_reference(Rust *rust, const char *sign) {
        put_text(rust, "&");
        if (take(rust, 'L')) {
                rust->n_silent++;
                read_lifetime(rust);
                rust->n_silent--;
        }
        put_text(rust, sign);
        read_type(rust);
}

static void read_function_type(Rust *rust) {
        Name abi;

        read_tagged(rust, 'G');
        if (take(rust, 'U'))
                put_text(rust, "unsafe ");
        if (take(rust, 'K')) {
                put_text(rust, "extern \"");
                if (take(rust, 'C')) {
                        put_text(rust, "C");
                } else {
                        abi = read_name(rust);
                        put_name(rust, &abi);
                }
                put_text(rust, "\" ");
        }
        put_text(rust, "fn(");
        read_list(rust, read_type, ", ");
        put_text(rust, ")");
        if (take(rust, 'u'))
                return;
        put_text(rust, " -> ");
        read_type(rust);
}

static void read_bound(Rust *rust) {
        read_path(rust, false);
        while (take(rust, 'p')) {
                Name name = read_name(rust);

                put_text(rust, "<");
                put_name(rust, &name);
                put_text(rust, " = ");
                read_type(rust);
                put_text(rust, ">");
        }
}

static void read_dyn(Rust *rust) {
        put_text(rust, "dyn ");
        read_tagged(rust, 'G');
        read_list(rust, read_bound, " + ");
        if (!take(rust, 'L')) {
                rust->failed = true;
                return;
        }
        rust->n_silent++;
        read_lifetime(rust);
        rust->n_silent--;
}

static void read_array(Rust *rust, bool has_length) {
        put_text(rust, "[");
        read_type(rust);
        if (has_length) {
                put_text(rust, "; ");
                read_const(rust);
        }
        put_text(rust, "]");
}

static void read_tuple(Rust *rust) {
        unsigned n;

        put_text(rust, "(");
        n = read_list(rust, read_type, ", ");
        put_text(rust, n == 1 ? ",)" : ")");
}

static void read_pointer(Rust *rust, const char *sign) {
        put_text(rust, sign);
        read_type(rust);
}

static void read_type_of(Rust *rust, char tag) {
        switch (tag) {
        case 'A':
        case 'S':
                read_array(rust, tag == 'A');
                break;
        case 'T':
                read_tuple(rust);
                break;
        case 'R':
        case 'Q':
                read_reference(rust, tag == 'R' ? "" : "mut ");
                break;
        case 'P':
        case 'O':
                read_pointer(rust, tag == 'P' ? "*const " : "*mut ");
                break;
        case 'F':
                read_function_type(rust);
                break;
        case 'D':
                read_dyn(rust);
                break;
        case 'B':
                read_back(rust, read_type);
                break;
        default: /* the first letter of a path */
                rust->at--;
                read_path(rust, false);
        }
}

static void read_type(Rust *rust) {
        const char tag = next(rust);
        const char *basic = basic_type(tag);

        if (rust->failed || !enter(rust))
                return;
        if (basic)
                put_text(rust, basic);
        else
                read_type_of(rust, tag);
        leave(rust);
}

/* A value of a type, digits as written. */
static void read_value(Rust *rust) {
        const char *start;

        rust->n_silent++;
        read_type(rust);
        rust->n_silent--;
        if (take(rust, 'n'))
                put_text(rust, "-");
        start = rust->at;
        while (!rust->failed && *rust->at != '_')
                next(rust);
        if (rust->failed)
                return;
        put_text(rust, "0x");
        put(rust, start, (size_t)(rust->at - start));
        next(rust);
}

static void read_const(Rust *rust) {
        if (!enter(rust))
                return;
        if (take(rust, 'p'))
                put_text(rust, "_");
        else if (take(rust, 'B'))
                read_back(rust, read_const);
        else
                read_value(rust);
        leave(rust);
}

char *demangle_rust(const char *name) {
        Rust rust = { .start = name + 2, .at = name + 2 };

        if (strncmp(name, "_R", 2) != 0 || (*rust.at >= '0' && *rust.at <= '9'))
                return NULL;
        read_path(&rust, true);
        /* It may be followed by the instantiating crate and a suffix of the compiler's. */
        if (rust.failed || (*rust.at && *rust.at != 'C' && *rust.at != 'N' && *rust.at != 'I' &&
                            *rust.at != 'B' && *rust.at != '.' && *rust.at != '$'))
                return NULL;
        return strndup(rust.text, rust.n);
}
