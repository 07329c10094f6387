/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The error contract
 *
 * Every function that can fail returns an int:
 *
 *   0    done.
 *   < 0  a negative errno. Fatal to the operation and anonymous: nobody matches on it, everybody
 *        passes it up, and the code that started the operation ends it.
 *   > 0  an outcome (OBJECT_E_WHY), listed in the function's header. It is part of normal life, is
 *        handled by the direct caller, and never travels further up.
 *
 * A caller that cannot happen to see an outcome, or has no use for it, folds it with error_fold():
 * what slipped through becomes an errno instead of a number that means something else elsewhere.
 *
 * Only main(), the D-Bus error map and the socket ports turn errors into words.
 */

#include <errno.h>

static inline int error_fold(int r) {
        return r > 0 ? -ENOTRECOVERABLE : r;
}
