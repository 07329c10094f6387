/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Instruction: the opcodes of x86-64, and what follows each of them */

#include "unwind/instruction.h"
#include "unwind/byte-reader.h"

#define INSTRUCTION_BYTES_MAX 15u

/* What follows each opcode: m is ModRM; b an immediate byte, w two bytes, z four, q eight; n and 1 are ModRM with a
 * byte and with four; M and N are the same, but with the immediate in two of the eight forms of ModRM only; a is an
 * address, e three bytes. What begins something else is p, and x is no instruction. */
static const char one_byte[] = "mmmmbzxxmmmmbzxp" /* 00 */
                               "mmmmbzxxmmmmbzxx"
                               "mmmmbzpxmmmmbzpx" /* 20 */
                               "mmmmbzpxmmmmbzpx"
                               "pppppppppppppppp" /* 40 */
                               "................"
                               "xxpmppppz1bn...." /* 60 */
                               "bbbbbbbbbbbbbbbb"
                               "n1xnmmmmmmmmmmmm" /* 80 */
                               "..........x....."
                               "aaaa....bz......" /* a0 */
                               "bbbbbbbbqqqqqqqq"
                               "nnw.ppn1e.w..bx." /* c0 */
                               "mmmmxxx.mmmmmmmm"
                               "bbbbbbbbzzxb...." /* e0 */
                               "p.pp..MN......mm";

static const char two_bytes[] = "mmmmx.....x.xm.n" /* 00 */
                                "mmmmmmmmmmmmmmmm"
                                "mmmmxxxxmmmmmmmm" /* 20 */
                                "........pxpxxxxx"
                                "mmmmmmmmmmmmmmmm" /* 40 */
                                "mmmmmmmmmmmmmmmm"
                                "mmmmmmmmmmmmmmmm" /* 60 */
                                "nnnnmmm.mmxxmmmm"
                                "zzzzzzzzzzzzzzzz" /* 80 */
                                "mmmmmmmmmmmmmmmm"
                                "...mnmxx...mnmmm" /* a0 */
                                "mmmmmmmmmmnmmmmm"
                                "mmnmnnnm........" /* c0 */
                                "mmmmmmmmmmmmmmmm"
                                "mmmmmmmmmmmmmmmm" /* e0 */
                                "mmmmmmmmmmmmmmmm";

/* A prefix REX: bits of what makes registers 8 to 15, and operands wide. */
enum {
        REX_BASE = 1,
        REX_INDEX = 2,
        REX_REG = 4,
        REX_WIDE = 8,
};

typedef struct Decoder {
        ByteReader reader;
        Instruction *instruction;
        uint8_t rex;
        bool has_short_address;
} Decoder;

static uint8_t next_byte(Decoder *decoder) {
        return (uint8_t)byte_read(&decoder->reader, 1);
}

/* Returns the first byte of the opcode. */
static uint8_t read_prefixes(Decoder *decoder) {
        uint8_t byte = next_byte(decoder);

        for (;; byte = next_byte(decoder)) {
                if (byte == 0x66)
                        decoder->instruction->is_narrow = true;
                else if (byte == 0x67)
                        decoder->has_short_address = true;
                else if ((byte & 0xe7) != 0x26 && byte != 0x64 && byte != 0x65 && byte != 0xf0 &&
                         byte != 0xf2 && byte != 0xf3)
                        break;
                if (decoder->reader.failed)
                        return 0;
        }
        if ((byte & 0xf0) != 0x40)
                return byte;
        decoder->rex = byte;
        decoder->instruction->is_wide = byte & REX_WIDE;
        return next_byte(decoder);
}

static uint8_t extended(const Decoder *decoder, unsigned number, uint8_t bit) {
        return (uint8_t)((number & 7) | (decoder->rex & bit ? 8 : 0));
}

/* The byte that says what an address consists of. Returns whether it begins with no register. */
static bool read_scaled(Decoder *decoder) {
        const uint8_t sib = next_byte(decoder);

        decoder->instruction->rm = extended(decoder, sib, REX_BASE);
        decoder->instruction->has_index = extended(decoder, sib >> 3, REX_INDEX) != 4;
        return (sib & 7) == 5;
}

static void read_modrm(Decoder *decoder) {
        Instruction *instruction = decoder->instruction;
        const uint8_t modrm = next_byte(decoder);
        bool is_bare = (modrm & 7) == 5; /* the instruction's own address, with mode 0 */

        instruction->mode = modrm >> 6;
        instruction->reg = extended(decoder, modrm >> 3, REX_REG);
        instruction->rm = extended(decoder, modrm, REX_BASE);
        if (instruction->mode == 3)
                return;
        if ((modrm & 7) == 4)
                is_bare = read_scaled(decoder);
        if (instruction->mode == 1)
                instruction->displacement = (int8_t)next_byte(decoder);
        else if (instruction->mode == 2 || is_bare)
                instruction->displacement = (int32_t)byte_read(&decoder->reader, 4);
        if (instruction->mode == 0 && is_bare)
                instruction->rm = UINT8_MAX;
}

static void read_immediate(Decoder *decoder, bool is_byte) {
        Instruction *instruction = decoder->instruction;

        if (is_byte)
                instruction->immediate = (int8_t)next_byte(decoder);
        else if (instruction->is_narrow && !instruction->is_wide)
                instruction->immediate = (int16_t)byte_read(&decoder->reader, 2);
        else
                instruction->immediate = (int32_t)byte_read(&decoder->reader, 4);
}

/* Returns false if there is no such instruction. */
static bool read_operands(Decoder *decoder, char form) {
        switch (form) {
        case '.':
                return true;
        case 'm':
                read_modrm(decoder);
                return true;
        case 'n':
        case '1':
                read_modrm(decoder);
                read_immediate(decoder, form == 'n');
                return true;
        case 'M':
        case 'N':
                read_modrm(decoder);
                if ((decoder->instruction->reg & 7) < 2)
                        read_immediate(decoder, form == 'M');
                return true;
        case 'b':
        case 'z':
                read_immediate(decoder, form == 'b');
                return true;
        case 'w':
                byte_skip(&decoder->reader, 2);
                return true;
        case 'e':
                byte_skip(&decoder->reader, 3);
                return true;
        case 'q':
                if (decoder->instruction->is_wide)
                        byte_skip(&decoder->reader, 8);
                else
                        read_immediate(decoder, false);
                return true;
        case 'a':
                byte_skip(&decoder->reader, decoder->has_short_address ? 4 : 8);
                return true;
        default:
                return false;
        }
}

/* Opcodes of a map of three bytes, or of vectors, with an immediate byte. */
static bool has_immediate(unsigned map, uint8_t opcode) {
        return map == 3 || (map == 1 && ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
                                         (opcode >= 0xc4 && opcode <= 0xc6)));
}

static bool read_others(Decoder *decoder, unsigned map, bool has_modrm) {
        Instruction *instruction = decoder->instruction;

        instruction->map = MAP_OTHER;
        instruction->opcode = next_byte(decoder);
        if (has_modrm || map != 1 || instruction->opcode != 0x77)
                read_modrm(decoder);
        if (has_immediate(map, instruction->opcode))
                byte_skip(&decoder->reader, 1);
        return map > 0;
}

static bool read_vector(Decoder *decoder, uint8_t first) {
        unsigned map = 1;

        if (first != 0xc5)
                map = next_byte(decoder) & (first == 0x62 ? 7 : 0x1f);
        byte_skip(&decoder->reader, first == 0x62 ? 2 : 1);
        return read_others(decoder, map, first == 0x62);
}

/* Calls and jumps have four bytes also where operands have two. */
static bool read_rest(Decoder *decoder, uint8_t first) {
        Instruction *instruction = decoder->instruction;

        if (first == 0x62 || first == 0xc4 || first == 0xc5)
                return read_vector(decoder, first);
        instruction->opcode = first;
        if (first != 0x0f) {
                instruction->is_narrow &= (first & 0xfe) != 0xe8;
                instruction->rm = extended(decoder, first, REX_BASE);
                return read_operands(decoder, one_byte[first]);
        }
        instruction->map = MAP_TWO_BYTES;
        instruction->opcode = next_byte(decoder);
        if (instruction->opcode == 0x38 || instruction->opcode == 0x3a)
                return read_others(decoder, instruction->opcode == 0x38 ? 2 : 3, true);
        instruction->is_narrow &= (instruction->opcode & 0xf0) != 0x80;
        return read_operands(decoder, two_bytes[instruction->opcode]);
}

bool instruction_read(Instruction *ret, const uint8_t *bytes, size_t n_bytes) {
        Decoder decoder = { .instruction = ret };

        *ret = (Instruction){};
        n_bytes = n_bytes < INSTRUCTION_BYTES_MAX ? n_bytes : INSTRUCTION_BYTES_MAX;
        byte_reader_init(&decoder.reader, bytes, n_bytes, 0);
        if (!read_rest(&decoder, read_prefixes(&decoder)) || decoder.reader.failed)
                return false;
        ret->n_bytes = n_bytes - byte_reader_left(&decoder.reader);
        return true;
}
