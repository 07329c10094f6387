/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Demangle: names of functions as they are written in C++ and Rust */

#include "symbols/demangle.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"
#include "symbols/demangle-rust.h"

#define RUST_HASH_BYTES (sizeof("::h0123456789abcdef") - 1)

typedef char *(*Demangler)(const char *name, char *memory, size_t *n_memory, int *ret_status);

/* Loaded on demand: most traces do not need it. */
static Demangler find_demangler(void) {
        static Demangler demangler;
        static bool is_searched;
        void *library;

        if (is_searched)
                return demangler;
        is_searched = true;
        library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
        if (library) {
                void *function = dlsym(library, "__cxa_demangle");

                memcpy(&demangler, &function, sizeof(demangler));
        }
        return demangler;
}

/* Rust's older names are C++ names whose last part is a hash. */
static bool ends_in_rust_hash(const char *name, size_t n) {
        const char *hash = name + n - RUST_HASH_BYTES;

        if (n <= RUST_HASH_BYTES || memcmp(hash, "::h", 3) != 0)
                return false;
        for (size_t i = 3; i < RUST_HASH_BYTES; i++)
                if (!isxdigit((unsigned char)hash[i]))
                        return false;
        return true;
}

/* An escape for a character that such a name may not contain. Returns its length; 0: not an escape. */
static size_t rust_escape(const char *at, char *ret) {
        static const struct {
                const char *text;
                char is;
        } escapes[] = {
                { "$LT$", '<' },  { "$GT$", '>' },   { "$RF$", '&' },  { "$BP$", '*' },
                { "$C$", ',' },   { "$LP$", '(' },   { "$RP$", ')' },  { "$SP$", '@' },
                { "$u20$", ' ' }, { "$u27$", '\'' }, { "$u5b$", '[' }, { "$u5d$", ']' },
                { "$u7b$", '{' }, { "$u7d$", '}' },  { "$u7e$", '~' }, { "$u3b$", ';' },
                { "$u2b$", '+' }, { "$u22$", '"' },
        };

        for (size_t i = 0; i < ARRAY_SIZE(escapes); i++) {
                const size_t n = strlen(escapes[i].text);

                if (strncmp(at, escapes[i].text, n) == 0) {
                        *ret = escapes[i].is;
                        return n;
                }
        }
        return 0;
}

/* In place: the text only gets shorter. */
static void unescape_rust(char *name, size_t n) {
        char *to = name;

        name[n - RUST_HASH_BYTES] = '\0';
        for (const char *at = name; *at;) {
                const size_t n_escape = *at == '$' ? rust_escape(at, to) : 0;

                if (n_escape > 0) {
                        at += n_escape;
                        to++;
                } else if (at[0] == '.' && at[1] == '.') {
                        *to++ = ':';
                        *to++ = ':';
                        at += 2;
                } else if (at[0] == '_' && at[1] == '$' && (to == name || to[-1] == ':')) {
                        at++; /* a part may not begin with an escape */
                } else {
                        *to++ = *at++;
                }
        }
        *to = '\0';
}

char *symbol_demangle(const char *name) {
        const size_t n = strnlen(name, DEMANGLE_BYTES_MAX + 1);
        Demangler demangler;
        int status = -1;
        char *text;

        if (n > DEMANGLE_BYTES_MAX)
                return NULL;
        if (strncmp(name, "_R", 2) == 0)
                return demangle_rust(name);
        if (strncmp(name, "_Z", 2) != 0)
                return NULL;
        demangler = find_demangler();
        text = demangler ? demangler(name, NULL, NULL, &status) : NULL;
        if (text && ends_in_rust_hash(text, strlen(text)))
                unescape_rust(text, strlen(text));
        return text;
}
