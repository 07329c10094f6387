/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A message becomes a table of its fields below DIRECT_FIELDS and a list of ranges for the others, so that nearly every
 * look-up is one load.
 */

#include <errno.h>

#include "packet/filter-program.h"
#include "shared/bytes.h"
#include "shared/hash.h"
#include "wire/wire-reader.h"

enum {
        OPCODE_END_OF_MESSAGE = 0,
        OPCODE_FIELD = 1,
        OPCODE_FIELD_RANGE = 2,
        OPCODE_NESTED_FIELD = 3,
        OPCODE_STRING = 4,
        OPCODE_TYPED_STRING = 5,
};

#define OPCODE_BITS   3
#define OPCODE_MASK   7u
#define DIRECT_FIELDS 1024
#define OVERLAY_WORDS 3 /* words of an entry: message, field and opcode, argument */
#define FIELD_MAX     ((1u << 29) - 1)

typedef struct FilterRange {
        uint32_t first, end; /* [first, end) */
        FilterAction action;
} FilterRange;

typedef struct FilterMessage {
        uint32_t first_action, n_actions; /* of fields 0 … n - 1 */
        uint32_t first_range, n_ranges;
} FilterMessage;

/* Arrays of FilterMessage, FilterAction, FilterRange. */
struct FilterProgram {
        Bytes messages, actions, ranges;
};

/* A reader of words. */
typedef struct Words {
        Bytes bytes; /* of uint32_t */
        size_t n, at;
} Words;

typedef struct Compiler {
        FilterProgram *program;
        Words code, overlay;
        FilterAction direct[DIRECT_FIELDS];
        uint32_t n_direct;
        FilterMessage message; /* being compiled */
        uint32_t n_messages;
        const char *why;
} Compiler;

static uint32_t words_peek(const Words *words, size_t ahead) {
        return ((const uint32_t *)(const void *)words->bytes.data)[words->at + ahead];
}

static uint64_t fnv_add(uint64_t hash, uint32_t word) {
        for (unsigned i = 0; i < 4; i++, word >>= 8)
                hash = hash_add(hash, word & 0xff);
        return hash;
}

/* Reads all words but the last, which is the checksum of the others. */
static int words_read(Words *words, const void *data, size_t n, const char **ret_why) {
        WireReader reader;
        uint64_t hash = HASH_BASIS, word = 0;

        *ret_why = "it is empty";
        if (n == 0)
                return -EINVAL;
        *ret_why = "it is too long: FILTER_BYTECODE_BYTES_MAX";
        if (n > FILTER_BYTECODE_BYTES_MAX)
                return -EINVAL;
        wire_reader_init(&reader, data, n);
        while (reader.at < reader.end) {
                uint32_t narrow;

                *ret_why = "it is no sequence of 32-bit varints";
                if (wire_read_varint(&reader, &word) < 0 || word > UINT32_MAX)
                        return -EINVAL;
                narrow = (uint32_t)word;
                if (reader.at == reader.end)
                        break;
                hash = fnv_add(hash, narrow);
                if (bytes_append(&words->bytes, &narrow, sizeof(narrow)) < 0)
                        return -ENOMEM;
                words->n++;
        }
        *ret_why = "its checksum is wrong";
        return (uint32_t)hash == (uint32_t)word ? 0 : -EINVAL;
}

static int compiler_refuse(Compiler *compiler, const char *why) {
        compiler->why = why;
        return -EINVAL;
}

static int compiler_add_range(Compiler *compiler, FilterRange range) {
        if (compiler->message.n_ranges++ == FILTER_RANGES_MAX)
                return compiler_refuse(compiler,
                                       "a message has too many ranges (FILTER_RANGES_MAX)");
        return bytes_append(&compiler->program->ranges, &range, sizeof(range));
}

/* Fields [first, end). */
static int
compiler_add_fields(Compiler *compiler, uint32_t first, uint32_t end, FilterAction action) {
        for (; first < end && first < DIRECT_FIELDS; first++) {
                compiler->direct[first] = action;
                compiler->n_direct = MAX(compiler->n_direct, first + 1);
        }
        return first < end ? compiler_add_range(compiler, (FilterRange){ first, end, action }) : 0;
}

/* What an overlay may make of a field; FILTER_DROP for what it may not. */
static FilterAction overlay_action(uint32_t opcode, uint32_t argument) {
        switch (opcode) {
        case OPCODE_FIELD:
                return (FilterAction){ FILTER_KEEP, 0 };
        case OPCODE_STRING:
                return (FilterAction){ FILTER_STRING, 0 };
        case OPCODE_TYPED_STRING:
                return (FilterAction){ FILTER_STRING, argument };
        default:
                return (FilterAction){ FILTER_DROP, 0 };
        }
}

/* Entries are ordered by message and field, so the next ones are those of the current message. They follow the
 * program's own, which they replace. */
static int compiler_apply_overlay(Compiler *compiler) {
        Words *words = &compiler->overlay;

        for (; words->at < words->n; words->at += OVERLAY_WORDS) {
                uint32_t field = words_peek(words, 1) >> OPCODE_BITS;
                FilterAction action =
                        overlay_action(words_peek(words, 1) & OPCODE_MASK, words_peek(words, 2));
                int r;

                if (words_peek(words, 0) != compiler->n_messages)
                        return 0;
                if (field == 0 || action.kind == FILTER_DROP)
                        return compiler_refuse(compiler, "the overlay has an unknown opcode");
                r = compiler_add_fields(compiler, field, field + 1, action);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int compiler_end_message(Compiler *compiler) {
        FilterProgram *program = compiler->program;
        FilterMessage *message = &compiler->message;
        int r;

        r = compiler_apply_overlay(compiler);
        if (r < 0)
                return r;
        if (compiler->n_messages == FILTER_MESSAGES_MAX)
                return compiler_refuse(compiler, "it has too many messages (FILTER_MESSAGES_MAX)");
        if (program->actions.n / sizeof(FilterAction) + compiler->n_direct > FILTER_ACTIONS_MAX)
                return compiler_refuse(compiler, "its tables are too large (FILTER_ACTIONS_MAX)");
        message->n_actions = compiler->n_direct;
        if (bytes_append(&program->actions,
                         compiler->direct,
                         compiler->n_direct * sizeof(*compiler->direct)) < 0 ||
            bytes_append(&program->messages, message, sizeof(*message)) < 0)
                return -ENOMEM;

        compiler->n_messages++;
        compiler->n_direct = 0;
        memset(compiler->direct, 0, sizeof(compiler->direct));
        *message = (FilterMessage){
                .first_action = (uint32_t)(program->actions.n / sizeof(FilterAction)),
                .first_range = (uint32_t)(program->ranges.n / sizeof(FilterRange)),
        };
        return 0;
}

/* What the opcode does with its field; some take one more word. */
static int
compiler_add_opcode(Compiler *compiler, uint32_t opcode, uint32_t field, uint32_t argument) {
        switch (opcode) {
        case OPCODE_FIELD:
                return compiler_add_fields(
                        compiler, field, field + 1, (FilterAction){ FILTER_KEEP, 0 });
        case OPCODE_FIELD_RANGE:
                if (argument > FIELD_MAX - field + 1)
                        return compiler_refuse(compiler, "it has a range past the last field");
                return compiler_add_fields(
                        compiler, field, field + argument, (FilterAction){ FILTER_KEEP, 0 });
        case OPCODE_NESTED_FIELD:
                return compiler_add_fields(
                        compiler, field, field + 1, (FilterAction){ FILTER_NESTED, argument });
        case OPCODE_STRING:
                return compiler_add_fields(
                        compiler, field, field + 1, (FilterAction){ FILTER_STRING, 0 });
        default:
                return compiler_add_fields(
                        compiler, field, field + 1, (FilterAction){ FILTER_STRING, argument });
        }
}

static int compiler_step(Compiler *compiler) {
        static const uint8_t n_words[OPCODE_MASK + 1] = {
                [OPCODE_END_OF_MESSAGE] = 1, [OPCODE_FIELD] = 1,  [OPCODE_FIELD_RANGE] = 2,
                [OPCODE_NESTED_FIELD] = 2,   [OPCODE_STRING] = 1, [OPCODE_TYPED_STRING] = 2,
        };
        Words *code = &compiler->code;
        uint32_t word = words_peek(code, 0), argument;
        uint32_t opcode = word & OPCODE_MASK, field = word >> OPCODE_BITS;

        if (n_words[opcode] == 0)
                return compiler_refuse(compiler, "it has an unknown opcode");
        if (code->n - code->at < n_words[opcode])
                return compiler_refuse(compiler, "it ends inside an instruction");
        argument = n_words[opcode] == 2 ? words_peek(code, 1) : 0;
        code->at += n_words[opcode];
        if (opcode == OPCODE_END_OF_MESSAGE)
                return compiler_end_message(compiler);
        if (field == 0)
                return compiler_refuse(compiler, "it has a field of number 0");
        return compiler_add_opcode(compiler, opcode, field, argument);
}

static bool program_is_closed(const FilterProgram *program, uint32_t n_messages) {
        const FilterAction *actions = (const void *)program->actions.data;
        const FilterRange *ranges = (const void *)program->ranges.data;

        for (size_t i = 0; i < program->actions.n / sizeof(*actions); i++)
                if (actions[i].kind == FILTER_NESTED && actions[i].argument >= n_messages)
                        return false;
        for (size_t i = 0; i < program->ranges.n / sizeof(*ranges); i++)
                if (ranges[i].action.kind == FILTER_NESTED &&
                    ranges[i].action.argument >= n_messages)
                        return false;
        return true;
}

static int compiler_run(Compiler *compiler) {
        bool is_open = false;

        if (compiler->overlay.n % OVERLAY_WORDS != 0)
                return compiler_refuse(compiler, "the overlay ends inside an entry");
        while (compiler->code.at < compiler->code.n) {
                int r;

                is_open = (words_peek(&compiler->code, 0) & OPCODE_MASK) != OPCODE_END_OF_MESSAGE;
                r = compiler_step(compiler);
                if (r < 0)
                        return r;
        }
        if (is_open)
                return compiler_refuse(compiler, "its last message has no end");
        if (compiler->overlay.at < compiler->overlay.n)
                return compiler_refuse(
                        compiler,
                        "the overlay is out of order, or refers to messages that do not exist");
        if (!program_is_closed(compiler->program, compiler->n_messages))
                return compiler_refuse(compiler, "it refers to a message that it does not have");
        return 0;
}

int filter_program_new(FilterProgram **ret,
                       const void *bytecode,
                       size_t n_bytecode,
                       const void *overlay,
                       size_t n_overlay,
                       const char **ret_why) {
        _cleanup_(filter_program_freep) FilterProgram *program = NULL;
        Compiler compiler = {};
        int r;

        program = calloc(1, sizeof(*program));
        if (!program)
                return -ENOMEM;
        compiler.program = program;
        r = words_read(&compiler.code, bytecode, n_bytecode, ret_why);
        if (r == 0 && n_overlay > 0)
                r = words_read(&compiler.overlay, overlay, n_overlay, ret_why);
        if (r == 0) {
                r = compiler_run(&compiler);
                *ret_why = compiler.why;
        }
        bytes_deinit(&compiler.code.bytes);
        bytes_deinit(&compiler.overlay.bytes);
        if (r == 0)
                *ret = TAKE(program);
        return r;
}

FilterProgram *filter_program_free(FilterProgram *program) {
        if (!program)
                return NULL;
        bytes_deinit(&program->messages);
        bytes_deinit(&program->actions);
        bytes_deinit(&program->ranges);
        free(program);
        return NULL;
}

/* The last range that has the field counts, as overlays come after the ranges that they change. */
static FilterAction
message_find_range(const FilterProgram *program, const FilterMessage *message, uint32_t field) {
        const FilterRange *ranges = (const void *)program->ranges.data;

        for (uint32_t i = message->n_ranges; i-- > 0;) {
                const FilterRange *range = &ranges[message->first_range + i];

                if (field >= range->first && field < range->end)
                        return range->action;
        }
        return (FilterAction){ FILTER_DROP, 0 };
}

FilterAction filter_program_find(const FilterProgram *program, uint32_t message, uint32_t field) {
        const FilterMessage *at = (const void *)program->messages.data;
        const FilterAction *actions = (const void *)program->actions.data;

        if (UNLIKELY(message >= program->messages.n / sizeof(*at)))
                return (FilterAction){ FILTER_DROP, 0 };
        at += message;
        if (LIKELY(field < at->n_actions))
                return actions[at->first_action + field];
        return field < DIRECT_FIELDS ? (FilterAction){ FILTER_DROP, 0 }
                                     : message_find_range(program, at, field);
}
