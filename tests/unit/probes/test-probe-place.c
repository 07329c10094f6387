/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/probe.h"
#include "probes/ftrace/dynamic-events.h"
#include "probes/ftrace/elf-symbols.h"
#include "probes/ftrace/probe-place.h"
#include "tree.h"

/* Found in this program's own file. */
__attribute__((__noinline__, __visibility__("default"))) int place_to_probe(int value);
int place_to_probe(int value) {
        __asm__ volatile("" : "+r"(value));
        return value;
}

static char *own_path(void) {
        static char path[PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

        ck_assert_int_gt(n, 0);
        path[n] = '\0';
        return path;
}

static void expect_line(const ProbePlace *place, bool at_exit, const char *expected) {
        char *line = probe_place_line(place, at_exit, "g/n");

        ck_assert_str_eq(line, expected);
        free(line);
}

START_TEST(test_a_kprobe_is_a_line_in_the_kernels_words) {
        KprobeConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__KPROBE_EVENT__INIT;
        char *args[] = { (char *)"count=%dx:u64", (char *)"path=+0($arg2):ustring" };
        ProbePlace place;

        config.probe = (char *)"vfs_read.isra.0+0x10";
        config.args = args;
        config.n_args = 2;
        ck_assert_int_eq(probe_place_init_kprobe(&place, &config, NULL), 0);
        ck_assert_str_eq(place.name, "vfs_read_isra_0_0x10");
        ck_assert(place.entry && !place.exit);
        expect_line(
                &place, false, "p:g/n vfs_read.isra.0+0x10 count=%dx:u64 path=+0($arg2):ustring");
        probe_place_deinit(&place);

        config.name = (char *)"2 reads";
        config.n_args = 0;
        config.type = 3;
        ck_assert_int_eq(probe_place_init_kprobe(&place, &config, NULL), 0);
        ck_assert_str_eq(place.name, "_2_reads");
        ck_assert_str_eq(place.label, "2 reads");
        ck_assert(place.entry && place.exit);
        expect_line(&place, true, "r:g/n vfs_read.isra.0+0x10");
        probe_place_deinit(&place);
}
END_TEST

START_TEST(test_nothing_of_a_config_can_add_a_word_or_a_line) {
        static const char *const functions[] = { "",
                                                 "vfs read",
                                                 "vfs_read\n-:*/*",
                                                 "a#b",
                                                 "/bin/sh:0x10",
                                                 "vfs_read\t",
                                                 "a\x01"
                                                 "b" };
        static const char *const arguments[] = { "", "a=%di b=%si", "a=%di\np:x y", "#" };
        KprobeConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__KPROBE_EVENT__INIT;
        char *argument, *error;
        ProbePlace place;

        for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
                config.probe = (char *)functions[i];
                ck_assert_msg(probe_place_init_kprobe(&place, &config, &error) == PROBE_E_REFUSED,
                              "case %zu",
                              i);
                free(error);
        }
        config.probe = (char *)"vfs_read";
        config.args = &argument;
        config.n_args = 1;
        for (size_t i = 0; i < ARRAY_SIZE(arguments); i++) {
                argument = (char *)arguments[i];
                ck_assert_msg(probe_place_init_kprobe(&place, &config, &error) == PROBE_E_REFUSED,
                              "case %zu",
                              i);
                free(error);
        }
}
END_TEST

START_TEST(test_arguments_are_as_many_as_readers_know) {
        static char *args[DYNAMIC_ARGS_MAX + 1];
        KprobeConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__KPROBE_EVENT__INIT;
        char *error;
        ProbePlace place;

        for (size_t i = 0; i < ARRAY_SIZE(args); i++)
                args[i] = (char *)"%di";
        config.probe = (char *)"vfs_read";
        config.args = args;
        config.n_args = DYNAMIC_ARGS_MAX;
        ck_assert_int_eq(probe_place_init_kprobe(&place, &config, NULL), 0);
        probe_place_deinit(&place);
        config.n_args++;
        ck_assert_int_eq(probe_place_init_kprobe(&place, &config, &error), PROBE_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(error, "at most 28"));
        free(error);
}
END_TEST

/* What the kernel would open. */
static void expect_own_file(const ProbePlace *place) {
        char link[64], path[PATH_MAX] = "";

        snprintf(link, sizeof(link), "%.*s", (int)strcspn(place->where, ":"), place->where);
        ck_assert_int_gt(readlink(link, path, sizeof(path) - 1), 0);
        ck_assert_str_eq(path, own_path());
}

static UprobeConfig uprobe_at(uint64_t offset) {
        UprobeConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__UPROBE_EVENT__INIT;

        config.path = own_path();
        config.has_offset = true;
        config.offset = offset;
        return config;
}

static uint64_t offset_of_symbol(void) {
        UprobeConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__UPROBE_EVENT__INIT;
        ProbePlace place;
        uint64_t at;

        config.path = own_path();
        config.symbol = (char *)"place_to_probe";
        ck_assert_int_eq(probe_place_init_uprobe(&place, &config, NULL), 0);
        expect_own_file(&place);
        ck_assert_str_eq(place.name, "place_to_probe");
        at = strtoul(strrchr(place.where, ':') + 1, NULL, 16);
        probe_place_deinit(&place);
        ck_assert_int_eq(place_to_probe(3), 3);
        return at;
}

START_TEST(test_a_uprobe_is_found_by_its_symbol) {
        ck_assert_uint_gt(offset_of_symbol(), 0);
}
END_TEST

START_TEST(test_a_uprobe_can_be_given_by_offset) {
        UprobeConfig config = uprobe_at(offset_of_symbol());
        ProbePlace place;

        ck_assert_int_eq(probe_place_init_uprobe(&place, &config, NULL), 0);
        expect_own_file(&place);
        ck_assert_uint_eq(strtoul(strrchr(place.where, ':') + 1, NULL, 16), config.offset);
        ck_assert_str_eq(place.name, "test_probe_place");
        probe_place_deinit(&place);
}
END_TEST

START_TEST(test_a_uprobe_is_nowhere_but_where_an_instruction_begins) {
        static const char *const symbols[] = { "place_to_probe+1", "place_to_probe+2", NULL };
        UprobeConfig config = uprobe_at(offset_of_symbol() + 1);

        for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
                _cleanup_(freep) char *error = NULL;
                ProbePlace place;

                config.symbol = (char *)symbols[i];
                config.has_offset = !symbols[i];
                for (config.type = 1; config.type <= 3; config.type++) {
                        free(TAKE(error));
                        ck_assert_int_eq(probe_place_init_uprobe(&place, &config, &error),
                                         PROBE_E_REFUSED);
                        ck_assert_msg(strstr(error, "in the middle of an instruction") != NULL,
                                      "%s",
                                      error);
                        ck_assert_ptr_nonnull(strstr(error, "name a function"));
                }
        }
}
END_TEST

START_TEST(test_after_a_return_nothing_is_read_through_arguments) {
        static const struct {
                const char *arg;
                int type, r;
        } cases[] = {
                { "name=+0(%di):string", 1, 0 },
                { "name=+0(%di):string", 2, PROBE_E_REFUSED },
                { "name=+0(%di):string", 3, PROBE_E_REFUSED },
                { "+u8($arg1)", 2, PROBE_E_REFUSED },
                { "x=+8(+0($stack))", 2, PROBE_E_REFUSED },
                { "file->f_path", 2, PROBE_E_REFUSED },
                { "name:ustring", 2, PROBE_E_REFUSED },
                { "+0($retval):string", 2, 0 },
                { "x=+8(+0($retval)):u64", 3, 0 },
                { "$retval:string", 2, 0 },
                { "who=$comm:string", 3, 0 },
                { "size=%di:u64", 2, 0 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                KprobeConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__KPROBE_EVENT__INIT;
                char *args[] = { (char *)cases[i].arg };
                _cleanup_(freep) char *error = NULL;
                ProbePlace place = {};

                config.probe = (char *)"vfs_read";
                config.type = (unsigned)cases[i].type;
                config.args = args;
                config.n_args = 1;
                ck_assert_msg(probe_place_init_kprobe(&place, &config, &error) == cases[i].r,
                              "case %zu: %s",
                              i,
                              error);
                ck_assert(!error || strstr(error, "its arguments are gone"));
                probe_place_deinit(&place);
        }
}
END_TEST

START_TEST(test_a_uprobe_that_is_nowhere_is_refused_with_the_reason) {
        static const struct {
                const char *path, *symbol, *error;
        } cases[] = {
                { "bin/sh", "main", "no path from the root" },
                { "/usr/bin/a b", "main", "no path from the root" },
                { NULL, "main", "no path from the root" },
                { "/nonexistent/x", "main", "--standalone" },
                { "/etc", "main", "no file" },
                { "/sys/kernel/mm/transparent_hugepage/enabled", "main", "uprobe_events: " },
                { "/etc/passwd", "main", "no program or library" },
                { "own", NULL, "either a symbol or an offset" },
                { "own", "place_to_prob", "did you mean \"place_to_probe\"" },
                { "own", "place_to_probe+", "no function" },
                { "own", "place_to_probe+x", "no function" },
                { "own", "place_to_probe+0xffffffffffff", "not in the code" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                UprobeConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__UPROBE_EVENT__INIT;
                ProbePlace place;
                char *error = NULL;

                config.path = (char *)cases[i].path;
                if (cases[i].path && streq(cases[i].path, "own"))
                        config.path = own_path();
                config.symbol = (char *)cases[i].symbol;
                ck_assert_msg(probe_place_init_uprobe(&place, &config, &error) == PROBE_E_REFUSED,
                              "case %zu",
                              i);
                ck_assert_msg(strstr(error, cases[i].error) != NULL, "case %zu: %s", i, error);
                free(error);
        }
}
END_TEST

#define N_TABLES    9
#define NATIVE_DATA (__BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB)

/* A file with many tables of symbols, all of which hold one function, the same, but for the last. */
typedef struct ManyTables {
        Elf64_Ehdr head;
        Elf64_Shdr sections[2 + N_TABLES];
        Elf64_Sym symbols[2];
        char names[16];
} ManyTables;

static int many_tables(void) {
        int fd = memfd_create("program", MFD_CLOEXEC);
        ManyTables file = {
                .head = {
                        .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, NATIVE_DATA, EV_CURRENT },
                        .e_type = ET_DYN,
                        .e_machine = EM_X86_64,
                        .e_version = EV_CURRENT,
                        .e_ehsize = sizeof(Elf64_Ehdr),
                        .e_shoff = offsetof(ManyTables, sections),
                        .e_shentsize = sizeof(Elf64_Shdr),
                        .e_shnum = 2 + N_TABLES,
                        .e_shstrndx = 1,
                },
                .names = "\0first\0last",
        };

        file.sections[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
                                         .sh_offset = offsetof(ManyTables, names),
                                         .sh_size = sizeof(file.names) };
        for (size_t i = 0; i < N_TABLES; i++)
                file.sections[2 + i] = (Elf64_Shdr){
                        .sh_type = SHT_SYMTAB,
                        .sh_link = 1,
                        .sh_offset = offsetof(ManyTables, symbols[i + 1 == N_TABLES]),
                        .sh_size = sizeof(Elf64_Sym),
                        .sh_entsize = sizeof(Elf64_Sym),
                };
        for (size_t i = 0; i < 2; i++)
                file.symbols[i] = (Elf64_Sym){ .st_name = i ? 7 : 1,
                                               .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                               .st_shndx = 1 };
        ck_assert_int_eq(write(fd, &file, sizeof(file)), sizeof(file));
        return fd;
}

/* Each may be large, and stays in memory. */
START_TEST(test_of_many_tables_of_symbols_few_are_read) {
        int fd = many_tables();
        char *error = NULL;
        uint64_t offset;

        ck_assert_int_eq(elf_find_function(&offset, fd, "program", "first", &error),
                         PROBE_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(error, "not in the code")); /* it is there, without code */
        free(error);
        ck_assert_int_eq(elf_find_function(&offset, fd, "program", "last", &error),
                         PROBE_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(error, "no function"));
        free(error);
        close(fd);
}
END_TEST

/* A file with `n` functions, all called "first", and one that is called "last". */
static int many_functions(size_t n) {
        int source = many_tables(), fd = memfd_create("program", MFD_CLOEXEC);
        Elf64_Sym *symbols = calloc(n + 1, sizeof(*symbols));
        ManyTables file;

        ck_assert_ptr_nonnull(symbols);
        ck_assert_int_eq(pread(source, &file, sizeof(file), 0), sizeof(file));
        file.head.e_shnum = 3;
        file.sections[2].sh_offset = sizeof(file);
        file.sections[2].sh_size = (n + 1) * sizeof(*symbols);
        for (size_t i = 0; i <= n; i++)
                symbols[i] = file.symbols[i == n];
        ck_assert_int_eq(write(fd, &file, sizeof(file)), sizeof(file));
        ck_assert_int_eq(write(fd, symbols, (n + 1) * sizeof(*symbols)),
                         (n + 1) * sizeof(*symbols));
        free(symbols);
        close(source);
        return fd;
}

START_TEST(test_a_near_name_is_looked_for_among_a_limited_number) {
        for (size_t n = ELF_NEAREST_MAX - 1; n <= ELF_NEAREST_MAX; n++) {
                int fd = many_functions(n);
                char *error = NULL;
                uint64_t offset;

                ck_assert_int_eq(elf_find_function(&offset, fd, "program", "lasd", &error),
                                 PROBE_E_REFUSED);
                ck_assert_int_eq(strstr(error, "did you mean \"last\"") != NULL,
                                 n < ELF_NEAREST_MAX);
                free(error);
                close(fd);
        }
}
END_TEST

/* That would start what a watchdog is for. */
START_TEST(test_what_is_no_program_is_not_even_opened) {
        UprobeConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__UPROBE_EVENT__INIT;
        static const char *const names[] = { "device", "trace_pipe" };
        int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        struct inotify_event event;
        Tree tree = tree_new();
        char path[PATH_MAX];
        char *error = NULL;
        ProbePlace place;

        tree_put(&tree,
                 "trace_pipe",
                 ""); /* as files of /proc and tracefs, which are made when they are read */
        ck_assert_int_eq(mkfifoat(tree.fd, "device", 0600), 0);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                snprintf(path, sizeof(path), "%s/%s", tree.path, names[i]);
                ck_assert_int_ge(inotify_add_watch(fd, path, IN_OPEN), 0);
                config.path = path;
                config.symbol = (char *)"main";
                ck_assert_int_eq(probe_place_init_uprobe(&place, &config, &error), PROBE_E_REFUSED);
                ck_assert_ptr_nonnull(strstr(error, "no file"));
                ck_assert_int_lt(read(fd, &event, sizeof(event)), 0);
                free(error);
        }
        close(fd);
        tree_free(&tree);
}
END_TEST

/* A tracefs of plain files: what is written is appended. */
START_TEST(test_definitions_are_of_the_recordings_own_group_and_are_taken_back) {
        Tree tree = tree_new();
        TraceDir dir = { .path = tree.path, .fd = tree.fd };
        KprobeConfig both = PERFETTO__PROTOS__FTRACE_CONFIG__KPROBE_EVENT__INIT, bad = both;
        KprobeConfig *kprobes[] = { &both, &bad };
        FtraceConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__INIT;
        EventSelection selection = {};
        DynamicEvents *events, *others;
        char *written;

        tree_put(&tree, "dynamic_events", "p:desktrace_0/stale do_exit\np:mine/x do_exit\n");
        both.probe = (char *)"vfs_read";
        both.type = 3;
        bad.probe = (char *)"vfs read";
        config.kprobe_events = kprobes;
        config.n_kprobe_events = 2;
        ck_assert_int_eq(dynamic_events_new(&events, &dir, &config, &selection, NULL), 0);
        ck_assert_uint_eq(selection.n_events, 2);
        ck_assert_uint_eq(selection.n_unknown, 1);
        ck_assert_uint_eq(dynamic_events_find(events, "desktrace_0/s0_vfs_read")->slice_type,
                          SLICE_END);
        ck_assert_uint_eq(dynamic_events_find(events, "desktrace_0/s1_vfs_read")->slice_type,
                          SLICE_BEGIN);
        ck_assert_int_eq(dynamic_events_new(&others, &dir, &config, &selection, NULL), 0);
        ck_assert_uint_eq(others->slot.number, 1);
        dynamic_events_free(others);
        dynamic_events_free(events);

        ck_assert_int_eq(trace_dir_read(&dir, "dynamic_events", &written, NULL, NULL), 0);
        ck_assert_ptr_nonnull(strstr(written, "-:desktrace_0/stale\n"));
        ck_assert_ptr_null(strstr(written, "-:mine/x"));
        ck_assert_ptr_nonnull(strstr(written, "r:desktrace_0/s0_vfs_read vfs_read"));
        ck_assert_ptr_nonnull(strstr(written, "p:desktrace_0/s1_vfs_read vfs_read"));
        ck_assert_ptr_nonnull(strstr(written, "-:desktrace_0/s1_vfs_read\n"));
        free(written);
        event_selection_deinit(&selection);
        tree_free(&tree);
}
END_TEST

START_TEST(test_hits_of_kprobes_are_counted_by_name) {
        Tree tree = tree_new();
        TraceDir dir = { .path = tree.path, .fd = tree.fd };
        DynamicEvent event = { .name = (char *)"desktrace_0/s0_vfs_read", .is_kprobe = true };
        DynamicEvents events = { .events = &event, .n_events = 1 };
        uint8_t memory[64];
        WireWriter wire;

        tree_put(&tree, "kprobe_profile", "  s0_vfs_read   300  2\n  other 1 1\nnonsense\n");
        wire_writer_init(&wire, memory, sizeof(memory));
        dynamic_events_encode_stats(&events, &dir, &wire, true);
        ck_assert_uint_eq(events.start_hits, 300);
        ck_assert_uint_eq(events.start_misses, 2);
        tree_put(&tree, "kprobe_profile", "  s0_vfs_read   301  2\n");
        dynamic_events_encode_stats(&events, &dir, &wire, true);
        ck_assert_uint_eq(events.start_hits, 300);
        ck_assert(!wire_writer_failed(&wire));
        tree_free(&tree);
}
END_TEST

TEST_MAIN("probe-place",
          test_a_kprobe_is_a_line_in_the_kernels_words,
          test_nothing_of_a_config_can_add_a_word_or_a_line,
          test_arguments_are_as_many_as_readers_know,
          test_a_uprobe_is_found_by_its_symbol,
          test_a_uprobe_can_be_given_by_offset,
          test_a_uprobe_is_nowhere_but_where_an_instruction_begins,
          test_after_a_return_nothing_is_read_through_arguments,
          test_a_uprobe_that_is_nowhere_is_refused_with_the_reason,
          test_what_is_no_program_is_not_even_opened,
          test_of_many_tables_of_symbols_few_are_read,
          test_a_near_name_is_looked_for_among_a_limited_number,
          test_definitions_are_of_the_recordings_own_group_and_are_taken_back,
          test_hits_of_kprobes_are_counted_by_name)
