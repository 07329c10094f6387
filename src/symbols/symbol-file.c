/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Symbol file: the functions that an ELF file names */

#include "symbols/symbol-file.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/elf-parts.h"
#include "shared/fd.h"

#define TABLES_MAX 4 /* tables of symbols in one file: there are two */

/*
 * Opening
 */

/* Checks the type before opening: opening a device or a pipe can have side effects. */
static int open_regular(const char *path) {
        _cleanup_(fd_closep) int place = open(path, O_PATH | O_CLOEXEC);
        char again[sizeof("/proc/self/fd/") + 16];
        struct stat status;

        if (place < 0 || fstat(place, &status) < 0 || !S_ISREG(status.st_mode))
                return -1;
        snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
        return open(again, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static Elf_Data *section_data(Elf_Scn *section, const GElf_Shdr *header) {
        if (header->sh_type == SHT_NOBITS || header->sh_size > SYMBOL_SECTION_BYTES_MAX)
                return NULL;
        return elf_getdata(section, NULL);
}

/* In which notes a build id may be. The second is that of a file without the first. */
static const struct IdNote {
        uint32_t type;
        const char *name;
        size_t n_name;
        bool (*shorten)(const uint8_t **content, size_t *n_content);
} id_notes[] = {
        { NT_GNU_BUILD_ID, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU), NULL },
        { GO_NOTE_TYPE, GO_NOTE_NAME, sizeof(GO_NOTE_NAME), go_build_id_shorten },
};

static bool
find_id(const uint8_t **ret, size_t *ret_n, const Elf_Data *data, const struct IdNote *wanted) {
        size_t at = 0, name, value;
        GElf_Nhdr note;

        while (at < data->d_size &&
               (at = gelf_getnote((Elf_Data *)(uintptr_t)data, at, &note, &name, &value)) > 0) {
                if (note.n_type != wanted->type || note.n_namesz != wanted->n_name ||
                    memcmp((const char *)data->d_buf + name, wanted->name, wanted->n_name) != 0)
                        continue;
                *ret = (const uint8_t *)data->d_buf + value;
                *ret_n = note.n_descsz;
                if (!wanted->shorten || wanted->shorten(ret, ret_n))
                        return true;
        }
        return false;
}

static bool read_id(const uint8_t **ret, size_t *ret_n, Elf *elf, const struct IdNote *wanted) {
        Elf_Scn *section = NULL;
        GElf_Shdr header;
        Elf_Data *data;

        while ((section = elf_nextscn(elf, section)))
                if (gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE &&
                    (data = section_data(section, &header)) && find_id(ret, ret_n, data, wanted))
                        return true;
        return false;
}

static bool has_build_id(Elf *elf, const BuildId *build_id) {
        const uint8_t *bytes;
        size_t n;

        for (size_t i = 0; i < ARRAY_SIZE(id_notes); i++)
                if (read_id(&bytes, &n, elf, &id_notes[i]))
                        return n == build_id->n && memcmp(bytes, build_id->bytes, n) == 0;
        return false;
}

int symbol_file_open_fd(SymbolFile *ret, int fd, const BuildId *build_id) {
        SymbolFile file = { .fd = fd };

        elf_version(EV_CURRENT);
        file.elf = fd < 0 || elf_has_many_parts(fd) ? NULL : elf_begin(fd, ELF_C_READ, NULL);
        if (!file.elf || elf_kind(file.elf) != ELF_K_ELF) {
                symbol_file_close(&file);
                return SYMBOL_FILE_E_NONE;
        }
        if (!has_build_id(file.elf, build_id)) {
                symbol_file_close(&file);
                return SYMBOL_FILE_E_OTHER;
        }
        *ret = file;
        return 0;
}

int symbol_file_open(SymbolFile *ret, const char *path, const BuildId *build_id) {
        return symbol_file_open_fd(ret, open_regular(path), build_id);
}

bool symbol_file_has_lines(const SymbolFile *file) {
        Elf_Scn *section = NULL;
        GElf_Shdr header;
        const char *name;
        size_t names;

        if (elf_getshdrstrndx(file->elf, &names) < 0)
                return false;
        while ((section = elf_nextscn(file->elf, section)))
                if (gelf_getshdr(section, &header) && header.sh_type != SHT_NOBITS &&
                    (name = elf_strptr(file->elf, names, header.sh_name)) &&
                    (streq(name, ".debug_line") || streq(name, ".zdebug_line")))
                        return true;
        return false;
}

void symbol_file_close(SymbolFile *file) {
        if (file->packed)
                elf_end(file->packed);
        if (file->elf)
                elf_end(file->elf);
        free(file->unpacked);
        *file = (SymbolFile){ .fd = fd_close(file->fd) };
}

/*
 * Functions
 */

/* A table of symbols while it is read. */
typedef struct Reading {
        Elf *elf;
        size_t names; /* section */
        FunctionTable *table;
} Reading;

static uint64_t section_end(Elf *elf, size_t number) {
        Elf_Scn *section = elf_getscn(elf, number);
        GElf_Shdr header;
        uint64_t end;

        if (!section || !gelf_getshdr(section, &header) ||
            __builtin_add_overflow(header.sh_addr, header.sh_size, &end))
                return 0;
        return end;
}

static FunctionRank rank_of(const GElf_Sym *symbol) {
        if (GELF_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
                return FUNCTION_RESOLVER;
        switch (GELF_ST_BIND(symbol->st_info)) {
        case STB_GLOBAL:
                return FUNCTION_GLOBAL;
        case STB_WEAK:
                return FUNCTION_WEAK;
        default:
                return FUNCTION_LOCAL;
        }
}

/* Returns false if no room is left. */
static bool add_symbol(const Reading *reading, const GElf_Sym *symbol) {
        const unsigned char type = GELF_ST_TYPE(symbol->st_info);
        Function function = {
                .start = symbol->st_value,
                .rank = rank_of(symbol),
                .has_size = symbol->st_size > 0,
        };

        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF)
                return true;
        function.name = elf_strptr(reading->elf, reading->names, symbol->st_name);
        if (!function.name || !*function.name)
                return true;
        if (!function.has_size)
                function.end = section_end(reading->elf, symbol->st_shndx);
        else if (__builtin_add_overflow(function.start, symbol->st_size, &function.end))
                return true;
        return function_table_add(reading->table, &function);
}

static bool names_are_sane(Elf *elf, size_t section) {
        Elf_Scn *names = elf_getscn(elf, section);
        GElf_Shdr header;

        return names && gelf_getshdr(names, &header) && header.sh_type == SHT_STRTAB &&
               header.sh_size <= SYMBOL_SECTION_BYTES_MAX;
}

/* Returns whether the file has such a table. */
static bool read_table(Elf *elf, uint32_t type, FunctionTable *table) {
        Reading reading = { .elf = elf, .table = table };
        Elf_Scn *section = NULL;
        GElf_Shdr header;
        GElf_Sym symbol;
        Elf_Data *data;
        unsigned n = 0;

        while (n < TABLES_MAX && (section = elf_nextscn(elf, section))) {
                if (!gelf_getshdr(section, &header) || header.sh_type != type ||
                    !names_are_sane(elf, header.sh_link))
                        continue;
                data = section_data(section, &header);
                reading.names = header.sh_link;
                n += data != NULL;
                for (int i = 0; data && gelf_getsym(data, i, &symbol); i++)
                        if (!add_symbol(&reading, &symbol))
                                break;
        }
        return n > 0;
}

static Elf_Scn *find_section(Elf *elf, const char *wanted, GElf_Shdr *ret) {
        Elf_Scn *section = NULL;
        size_t names;

        if (elf_getshdrstrndx(elf, &names) < 0 || !names_are_sane(elf, names))
                return NULL;
        while ((section = elf_nextscn(elf, section))) {
                const char *name =
                        gelf_getshdr(section, ret) ? elf_strptr(elf, names, ret->sh_name) : NULL;

                if (name && streq(name, wanted))
                        return section;
        }
        return NULL;
}

/* Fedora packs the names of local functions into a section of each program. */
static bool read_packed(SymbolFile *file, FunctionTable *table) {
        GElf_Shdr header;
        Elf_Scn *section = find_section(file->elf, ".gnu_debugdata", &header);
        Elf_Data *data = section ? section_data(section, &header) : NULL;
        size_t n;

        if (!data || !data->d_buf || file->packed)
                return false;
        file->unpacked = symbol_unpack(data->d_buf, data->d_size, &n);
        file->packed = file->unpacked ? elf_memory(file->unpacked, n) : NULL;
        return file->packed && elf_kind(file->packed) == ELF_K_ELF &&
               read_table(file->packed, SHT_SYMTAB, table);
}

bool symbol_file_read(SymbolFile *file, FunctionTable *table) {
        bool has_locals;

        if (read_table(file->elf, SHT_SYMTAB, table))
                return true;
        has_locals = read_packed(file, table);
        read_table(file->elf, SHT_DYNSYM, table);
        return has_locals;
}
