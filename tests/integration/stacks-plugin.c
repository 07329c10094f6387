/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A library that a program loads and drops: it calls back, from a function that says which one it is
 */

static volatile int calls;

__attribute__((visibility("default"))) int plugin(int (*callback)(void));
__attribute__((noinline)) int FUNCTION(int (*callback)(void));

int FUNCTION(int (*callback)(void)) {
        return callback() + calls;
}

int plugin(int (*callback)(void)) {
        int n = FUNCTION(callback);

        calls++;
        return n + calls;
}
