/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Says why session_clone() or its SessionCloneDone has no clone, if these give no reason of their own. */
const char *clone_outcome_words(int outcome);

/* Says why session_stream_open() has no output; `why` is the reason that it gave, which may be NULL. */
const char *output_outcome_words(int outcome, const char *why);
