/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Prints the rows of a file's addresses, which come on the standard input, in the words of readelf
 */

#include "module-file.h"
#include "shared/macro.h"

static void print_register(uint8_t number) {
        static const char *const names[] = {
                "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"
        };

        if (number < ARRAY_SIZE(names))
                printf("%s", names[number]);
        else
                printf("r%u", number);
}

static void print_rule(uint8_t rule, int32_t offset) {
        static const char *const words[] = {
                [RULE_SAME] = "u",
                [RULE_UNDEFINED] = "u",
                [RULE_AT_FRAME] = "exp",
                [RULE_NONE] = "none",
        };

        if (rule == RULE_SAVED)
                printf(" c%+d", offset);
        else if (rule == RULE_REGISTER)
                printf(" r%d", offset);
        else
                printf(" %s", words[rule]);
}

static void print_row(uint64_t address, const UnwindRow *row) {
        static const char *const kinds[] = { "none", "", "exp", "exp", "signal", "outermost" };

        printf("%" PRIx64 " ", address);
        if (row->kind != ROW_REGISTER) {
                printf("%s", kinds[row->kind]);
        } else {
                print_register(row->cfa_register);
                printf("%+d", row->cfa);
        }
        print_rule(row->kept_rule[KEPT_FRAME_POINTER], row->kept_offset[KEPT_FRAME_POINTER]);
        print_rule(row->kept_rule[KEPT_BASE], row->kept_offset[KEPT_BASE]);
        print_rule(row->return_rule, row->return_offset);
        putchar('\n');
}

int main(int argc, char **argv) {
        Module *module;
        uint64_t address;

        if (argc != 2 || test_module_open(&module, argv[1]) != 0) {
                fprintf(stderr, "usage: unwind-rows FILE, which must have an index of frames\n");
                return EXIT_FAILURE;
        }
        while (scanf("%" SCNx64, &address) == 1) {
                UnwindRow row;

                module_row(module, &row, address);
                print_row(address, &row);
        }
        module_free(module);
        return EXIT_SUCCESS;
}
