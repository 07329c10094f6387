/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Why session_clone() or its SessionCloneDone has no clone, where these have no words of their own. */
const char *clone_outcome_words(int outcome);

/* Why session_stream_open() has no output; `why` is what it said, which may be NULL. */
const char *output_outcome_words(int outcome, const char *why);
