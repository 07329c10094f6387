/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Outcome words: outcomes of the core and of outputs, in words that both transports use */

#include <string.h>

#include "core/session.h"
#include "output/session-stream.h"
#include "owner/outcome-words.h"

const char *clone_outcome_words(int outcome) {
        switch (outcome) {
        case SESSION_E_STATE:
                return "the session has ended while it was cloned";
        case SESSION_E_LIMIT:
                return "there are too many sessions, or of this user, or flushes";
        default:
                return outcome < 0 ? strerror(-outcome) : "it is not possible now";
        }
}

const char *output_outcome_words(int outcome, const char *why) {
        if (outcome == OUTPUT_E_LIMIT)
                return "too many outputs of this user are being written, or cannot be";
        return why ?: strerror(-outcome);
}
