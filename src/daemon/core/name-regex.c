/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/name-regex.h"

/* Counted repetition, "+" of what repeats already and back references can take exponential time and memory (regcomp(3)
 * copies what a "+" is about), and none is needed for a program's name. */
static const char *regex_refusal(const char *text) {
        if (strlen(text) > NAME_REGEX_BYTES_MAX)
                return "is too long";
        for (const char *at = text; *at; at++) {
                if (at[0] == '{')
                        return "has a counted repetition, which is not supported";
                if (strchr(")*+?", at[0]) && at[1] == '+')
                        return "has \"+\" after a group or another repetition, which is not "
                               "supported; \"*\" is";
                if (at[0] == '\\' && at[1] >= '1' && at[1] <= '9')
                        return "has a back reference, which is not supported";
                if (at[0] == '\\' && at[1])
                        at++;
        }
        return NULL;
}

int name_regex_compile(regex_t *ret, const char *text, char ret_why[static NAME_REGEX_WHY_BYTES]) {
        char whole[NAME_REGEX_BYTES_MAX + sizeof("^()$")];
        const char *refusal = regex_refusal(text);
        int r;

        if (refusal) {
                snprintf(ret_why, NAME_REGEX_WHY_BYTES, "%s", refusal);
                return -EINVAL;
        }
        snprintf(whole, sizeof(whole), "^(%s)$", text);
        r = regcomp(ret, whole, REG_EXTENDED | REG_NOSUB);
        if (r != 0) {
                regerror(r, ret, ret_why, NAME_REGEX_WHY_BYTES);
                return -EINVAL;
        }
        return 0;
}

int name_regexes_compile(regex_t **ret,
                         char *const texts[],
                         size_t n,
                         char ret_why[static NAME_REGEX_WHY_BYTES]) {
        regex_t *regexes = calloc(n + 1, sizeof(*regexes));

        if (!regexes)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                int r = name_regex_compile(&regexes[i], texts[i], ret_why);

                if (r < 0) {
                        name_regexes_free(regexes, i);
                        return r;
                }
        }
        *ret = regexes;
        return 0;
}

void name_regexes_free(regex_t *regexes, size_t n) {
        for (size_t i = 0; i < n; i++)
                regfree(&regexes[i]);
        free(regexes);
}
