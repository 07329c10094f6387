/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Runs the program of a function's entry. The state is a row, so of all registers only those in a row are tracked: the
 * CFA, the frame pointer and the return address.
 */

#include <string.h>

#include "shared/macro.h"
#include "unwind/cfi.h"

enum {
        CFA_NOP = 0x00,
        CFA_SET_LOCATION = 0x01,
        CFA_ADVANCE_1 = 0x02,
        CFA_ADVANCE_2 = 0x03,
        CFA_ADVANCE_4 = 0x04,
        CFA_OFFSET_EXTENDED = 0x05,
        CFA_RESTORE_EXTENDED = 0x06,
        CFA_UNDEFINED = 0x07,
        CFA_SAME = 0x08,
        CFA_REGISTER = 0x09,
        CFA_REMEMBER = 0x0a,
        CFA_RESTORE_STATE = 0x0b,
        CFA_DEFINE = 0x0c,
        CFA_DEFINE_REGISTER = 0x0d,
        CFA_DEFINE_OFFSET = 0x0e,
        CFA_DEFINE_EXPRESSION = 0x0f,
        CFA_EXPRESSION = 0x10,
        CFA_OFFSET_SIGNED = 0x11,
        CFA_DEFINE_SIGNED = 0x12,
        CFA_DEFINE_OFFSET_SIGNED = 0x13,
        CFA_VALUE_OFFSET = 0x14,
        CFA_VALUE_OFFSET_SIGNED = 0x15,
        CFA_VALUE_EXPRESSION = 0x16,
        CFA_NEGATE_RETURN_STATE = 0x2d, /* arm64: signed return addresses; x86 has no such thing */
        CFA_ARGUMENTS_SIZE = 0x2e,

        CFA_SHORT = 0xc0, /* from here on, the operand is in the low six bits */
        CFA_SHORT_ADVANCE = 0x40,
        CFA_SHORT_OFFSET = 0x80,
        CFA_SHORT_RESTORE = 0xc0,
        CFA_SHORT_OPERAND = 0x3f,
};

enum {
        OP_DEREF = 0x06,
        OP_REGISTER_0 = 0x70, /* and 31 more: the register with an offset */
        OP_REGISTER_31 = 0x8f,
};

typedef struct CfiRun {
        const CfiEntry *entry;
        const Architecture *architecture;
        uint64_t wanted;   /* the address whose row it is */
        uint64_t location; /* the address that the program has reached */
        UnwindRow row;
        UnwindRow initial; /* after the common part */
        UnwindRow remembered[CFI_STATES_MAX];
        size_t n_remembered;
} CfiRun;

/* Stores an offset if a row can hold it. Otherwise there is no row. */
static bool narrow(int32_t *ret, int64_t value) {
        *ret = (int32_t)value;
        return value >= INT32_MIN && value <= INT32_MAX;
}

static int64_t multiply(uint64_t value, int64_t factor) {
        int64_t product;

        return __builtin_mul_overflow((int64_t)value, factor, &product) ? INT64_MAX : product;
}

static void define_cfa(CfiRun *run, uint64_t number, int64_t offset) {
        run->row.kind = number < run->architecture->n_registers ? ROW_REGISTER : ROW_NONE;
        run->row.cfa_register = (uint8_t)number;
        if (!narrow(&run->row.cfa, offset))
                run->row.kind = ROW_NONE;
}

/* DW_CFA_def_cfa_offset and similar instructions keep the register, so they are invalid after an expression. */
static void define_offset(CfiRun *run, int64_t offset) {
        if (run->row.kind == ROW_REGISTER)
                define_cfa(run, run->row.cfa_register, offset);
}

static void set_rule(CfiRun *run, uint64_t number, RowRule rule, int64_t offset) {
        UnwindRow *row = &run->row;

        if (offset < INT16_MIN || offset > INT16_MAX ||
            (rule == RULE_REGISTER && offset >= run->architecture->n_registers))
                rule = RULE_NONE;
        for (size_t i = 0; i < KEPT_N; i++)
                if (number == run->architecture->kept[i]) {
                        row->kept_rule[i] = (uint8_t)rule;
                        row->kept_offset[i] = (int16_t)offset;
                }
        if (number == run->entry->return_register) {
                row->return_rule = (uint8_t)rule;
                row->return_offset = (int16_t)offset;
        }
}

static void restore_rule(CfiRun *run, uint64_t number) {
        for (size_t i = 0; i < KEPT_N; i++)
                if (number == run->architecture->kept[i])
                        set_rule(run,
                                 number,
                                 run->initial.kept_rule[i],
                                 run->initial.kept_offset[i]);
        if (number == run->entry->return_register)
                set_rule(run, number, run->initial.return_rule, run->initial.return_offset);
}

/* Whether an expression is "register plus offset" followed by exactly the bytes of `tail`. */
static bool is_register_and(const uint8_t *bytes,
                            size_t n_bytes,
                            const uint8_t *tail,
                            size_t n_tail,
                            uint8_t *ret_register,
                            int64_t *ret_offset) {
        ByteReader reader;
        uint8_t op;

        byte_reader_init(&reader, bytes, n_bytes, 0);
        op = (uint8_t)byte_read(&reader, 1);
        *ret_offset = byte_read_sleb(&reader);
        *ret_register = op - OP_REGISTER_0;
        return !reader.failed && op >= OP_REGISTER_0 && op <= OP_REGISTER_31 &&
               byte_reader_left(&reader) == n_tail &&
               (n_tail == 0 || memcmp(reader.at, tail, n_tail) == 0);
}

/* What linkers write for a PLT: rsp + 8 + (((rip & 15) >= N) << 3), where N is the offset after the entry's push. */
static bool is_plt(int32_t *ret_after, const uint8_t *bytes, size_t n_bytes) {
        static const uint8_t start[] = { 0x77, 8, 0x80, 0, 0x3f, 0x1a };
        static const uint8_t end[] = { 0x2a, 0x33, 0x24, 0x22 };
        const uint8_t literal_0 = 0x30;

        if (n_bytes != sizeof(start) + 1 + sizeof(end) ||
            memcmp(bytes, start, sizeof(start)) != 0 ||
            memcmp(bytes + sizeof(start) + 1, end, sizeof(end)) != 0)
                return false;
        *ret_after = bytes[sizeof(start)] - literal_0;
        return *ret_after >= 0 && *ret_after < 16;
}

static void define_expression(CfiRun *run, const uint8_t *bytes, size_t n_bytes) {
        static const uint8_t deref[] = { OP_DEREF };
        int64_t offset;

        if (is_plt(&run->row.cfa, bytes, n_bytes)) {
                run->row.kind = ROW_PLT;
                return;
        }
        if (!is_register_and(bytes, n_bytes, deref, 1, &run->row.cfa_register, &offset) ||
            !narrow(&run->row.cfa, offset) ||
            run->row.cfa_register >= run->architecture->n_registers)
                run->row.kind = ROW_NONE;
        else
                run->row.kind = ROW_INDIRECT;
}

/* A function that aligns its stack saves the frame pointer where it points to. */
static void save_by_expression(CfiRun *run, uint64_t number, const uint8_t *bytes, size_t n_bytes) {
        uint8_t base;
        int64_t offset;

        if (is_register_and(bytes, n_bytes, NULL, 0, &base, &offset) &&
            base == run->architecture->kept[KEPT_FRAME_POINTER])
                set_rule(run, number, RULE_AT_FRAME, offset);
        else
                set_rule(run, number, RULE_NONE, 0);
}

/* A block of bytes inside the program; NULL if it reaches beyond the end. */
static const uint8_t *read_block(ByteReader *reader, size_t *ret_n_bytes) {
        const uint64_t n = byte_read_uleb(reader);
        const uint8_t *block = reader->at;

        byte_skip(reader, n);
        *ret_n_bytes = (size_t)n;
        return reader->failed ? NULL : block;
}

static void run_expression(CfiRun *run, ByteReader *reader, uint8_t op) {
        const uint64_t number = op == CFA_DEFINE_EXPRESSION ? 0 : byte_read_uleb(reader);
        size_t n_bytes;
        const uint8_t *block = read_block(reader, &n_bytes);

        if (!block)
                return;
        if (op == CFA_DEFINE_EXPRESSION)
                define_expression(run, block, n_bytes);
        else if (op == CFA_EXPRESSION)
                save_by_expression(run, number, block, n_bytes);
        else
                set_rule(run, number, RULE_NONE, 0);
}

static void run_cfa(CfiRun *run, ByteReader *reader, uint8_t op) {
        const int64_t factor = run->entry->data_factor;
        uint64_t number;

        switch (op) {
        case CFA_DEFINE:
                number = byte_read_uleb(reader);
                define_cfa(run, number, (int64_t)byte_read_uleb(reader));
                break;
        case CFA_DEFINE_SIGNED:
                number = byte_read_uleb(reader);
                define_cfa(run, number, multiply((uint64_t)byte_read_sleb(reader), factor));
                break;
        case CFA_DEFINE_REGISTER:
                define_cfa(run, byte_read_uleb(reader), run->row.cfa);
                break;
        case CFA_DEFINE_OFFSET:
                define_offset(run, (int64_t)byte_read_uleb(reader));
                break;
        default:
                define_offset(run, multiply((uint64_t)byte_read_sleb(reader), factor));
        }
}

static void run_rule(CfiRun *run, ByteReader *reader, uint8_t op) {
        const uint64_t number = byte_read_uleb(reader);

        switch (op) {
        case CFA_OFFSET_EXTENDED:
                set_rule(run,
                         number,
                         RULE_SAVED,
                         multiply(byte_read_uleb(reader), run->entry->data_factor));
                break;
        case CFA_OFFSET_SIGNED:
                set_rule(run,
                         number,
                         RULE_SAVED,
                         multiply((uint64_t)byte_read_sleb(reader), run->entry->data_factor));
                break;
        case CFA_RESTORE_EXTENDED:
                restore_rule(run, number);
                break;
        case CFA_SAME:
                set_rule(run, number, RULE_SAME, 0);
                break;
        case CFA_UNDEFINED:
                set_rule(run, number, RULE_UNDEFINED, 0);
                break;
        case CFA_REGISTER:
                set_rule(run, number, RULE_REGISTER, (int64_t)byte_read_uleb(reader));
                break;
        default: /* DW_CFA_val_offset and the like, which no compiler uses for these registers */
                (void)byte_read_sleb(reader);
                set_rule(run, number, RULE_NONE, 0);
        }
}

static void run_state(CfiRun *run, ByteReader *reader, uint8_t op) {
        if (op == CFA_REMEMBER && run->n_remembered < CFI_STATES_MAX)
                run->remembered[run->n_remembered++] = run->row;
        else if (op == CFA_RESTORE_STATE && run->n_remembered > 0)
                run->row = run->remembered[--run->n_remembered];
        else
                reader->failed = true;
}

/* Advances the location. Returns true if that passes the wanted address, so the current row is the one. */
static bool run_advance(CfiRun *run, ByteReader *reader, uint8_t op) {
        uint64_t to;

        if (op == CFA_SET_LOCATION)
                to = byte_read_pointer(reader, run->entry->pointer_encoding, 0);
        else
                to = run->location +
                     run->entry->code_factor * byte_read(reader, (size_t)1 << (op - CFA_ADVANCE_1));
        if (reader->failed)
                return true;
        run->location = to;
        return run->wanted < to;
}

static bool run_short(CfiRun *run, ByteReader *reader, uint8_t byte) {
        const uint8_t operand = byte & CFA_SHORT_OPERAND;

        switch (byte & CFA_SHORT) {
        case CFA_SHORT_ADVANCE:
                run->location += operand * run->entry->code_factor;
                return run->wanted < run->location;
        case CFA_SHORT_OFFSET:
                set_rule(run,
                         operand,
                         RULE_SAVED,
                         multiply(byte_read_uleb(reader), run->entry->data_factor));
                return false;
        default:
                restore_rule(run, operand);
                return false;
        }
}

/* One instruction. Returns whether the row is found. */
static bool run_one(CfiRun *run, ByteReader *reader) {
        const uint8_t op = (uint8_t)byte_read(reader, 1);

        if (op & CFA_SHORT)
                return run_short(run, reader, op);
        switch (op) {
        case CFA_NOP:
                return false;
        case CFA_SET_LOCATION ... CFA_ADVANCE_4:
                return run_advance(run, reader, op);
        case CFA_REMEMBER:
        case CFA_RESTORE_STATE:
                run_state(run, reader, op);
                return false;
        case CFA_DEFINE_EXPRESSION:
        case CFA_EXPRESSION:
        case CFA_VALUE_EXPRESSION:
                run_expression(run, reader, op);
                return false;
        case CFA_DEFINE:
        case CFA_DEFINE_REGISTER:
        case CFA_DEFINE_OFFSET:
        case CFA_DEFINE_SIGNED:
        case CFA_DEFINE_OFFSET_SIGNED:
                run_cfa(run, reader, op);
                return false;
        case CFA_ARGUMENTS_SIZE:
                (void)byte_read_uleb(reader);
                return false;
        case CFA_OFFSET_EXTENDED ... CFA_REGISTER:
        case CFA_OFFSET_SIGNED:
        case CFA_VALUE_OFFSET:
        case CFA_VALUE_OFFSET_SIGNED:
                run_rule(run, reader, op);
                return false;
        default:
                reader->failed = true;
                return true;
        }
}

/* Returns 0, or CFI_E_BAD. */
static int run_program(CfiRun *run, const CfiProgram *program) {
        ByteReader reader;

        if (program->n_bytes > CFI_PROGRAM_BYTES_MAX)
                return CFI_E_BAD;
        byte_reader_init(&reader, program->bytes, program->n_bytes, program->address);
        while (reader.at < reader.end)
                if (run_one(run, &reader))
                        break;
        return reader.failed ? CFI_E_BAD : 0;
}

int cfi_entry_row(UnwindRow *ret,
                  const CfiEntry *entry,
                  const Architecture *architecture,
                  uint64_t address) {
        CfiRun run;

        *ret = (UnwindRow){};
        if (address < entry->start || address >= entry->end)
                return CFI_E_NOT_HERE;
        if (entry->is_signal_frame) {
                ret->kind = ROW_SIGNAL;
                return 0;
        }
        /* The remembered states are written before they are read, so they need no clearing. */
        run.entry = entry;
        run.architecture = architecture;
        run.wanted =
                UINT64_MAX; /* the common part describes the first byte, so nothing in it ends it */
        run.location = entry->start;
        run.row = (UnwindRow){};
        run.initial = (UnwindRow){};
        run.n_remembered = 0;
        if (run_program(&run, &entry->common))
                return CFI_E_BAD;
        run.wanted = address;
        run.location = entry->start;
        run.initial = run.row;
        if (run_program(&run, &entry->own))
                return CFI_E_BAD;
        if (run.row.return_rule == RULE_UNDEFINED)
                run.row.kind = ROW_OUTERMOST;
        else if (run.row.return_rule == RULE_NONE)
                run.row.kind = ROW_NONE;
        *ret = run.row;
        return 0;
}
