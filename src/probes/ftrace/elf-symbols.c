/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/ftrace/elf-symbols.h"
#include "probes/probe.h"
#include "shared/macro.h"
#include "shared/text.h"

#define NAME_BYTES_MAX 512 /* C++ has long ones */

typedef struct Wanted {
        char name[NAME_BYTES_MAX];
        uint64_t offset;
} Wanted;

/* What one pass over the functions of a file does; false ends it. */
typedef bool (*FunctionVisit)(void *userdata, const char *name, const GElf_Sym *symbol);

static void elf_endp(Elf **elf) {
        if (*elf)
                elf_end(*elf);
}

static bool parse_symbol(Wanted *ret, const char *symbol) {
        const char *plus = strrchr(symbol, '+');
        size_t n = plus ? (size_t)(plus - symbol) : strlen(symbol);
        char *end;

        *ret = (Wanted){};
        if (n == 0 || n >= sizeof(ret->name))
                return false;
        memcpy(ret->name, symbol, n);
        if (!plus)
                return true;
        errno = 0;
        ret->offset = strtoull(plus + 1, &end, 0);
        return plus[1] != '\0' && plus[1] != '-' && *end == '\0' && errno == 0;
}

/* libelf reads a table as a whole. */
static bool section_is_sane(const GElf_Shdr *header) {
        return header->sh_size <= ELF_TABLE_BYTES_MAX;
}

static bool names_are_sane(Elf *elf, size_t section) {
        Elf_Scn *names = elf_getscn(elf, section);
        GElf_Shdr header;

        return names && gelf_getshdr(names, &header) && header.sh_type == SHT_STRTAB &&
               section_is_sane(&header);
}

static bool is_table(Elf *elf, Elf_Scn *section, GElf_Shdr *ret) {
        return gelf_getshdr(section, ret) &&
               (ret->sh_type == SHT_SYMTAB || ret->sh_type == SHT_DYNSYM) && section_is_sane(ret) &&
               names_are_sane(elf, ret->sh_link);
}

static bool
visit_table(Elf *elf, Elf_Scn *section, size_t names, FunctionVisit visit, void *userdata) {
        Elf_Data *data = elf_getdata(section, NULL);
        GElf_Sym symbol;

        for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
                unsigned char type = GELF_ST_TYPE(symbol.st_info);
                const char *name;

                if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF)
                        continue;
                name = elf_strptr(elf, names, symbol.st_name);
                if (name && *name && !visit(userdata, name, &symbol))
                        return false;
        }
        return true;
}

static void visit_functions(Elf *elf, FunctionVisit visit, void *userdata) {
        Elf_Scn *section = NULL;
        GElf_Shdr header;
        size_t n = 0;

        while (n < ELF_TABLES_MAX && (section = elf_nextscn(elf, section)))
                if (is_table(elf, section, &header)) {
                        n++;
                        if (!visit_table(elf, section, header.sh_link, visit, userdata))
                                return;
                }
}

typedef struct Search {
        const Wanted *wanted;
        GElf_Sym found;
        bool has_found;
} Search;

static bool visit_search(void *userdata, const char *name, const GElf_Sym *symbol) {
        Search *search = userdata;

        if (!streq(name, search->wanted->name))
                return true;
        search->found = *symbol;
        search->has_found = true;
        return false;
}

typedef struct Names {
        const char **names;
        size_t n, n_allocated;
} Names;

/* Without memory the nearest of the first ones will do. */
static bool visit_names(void *userdata, const char *name, const GElf_Sym *symbol) {
        Names *names = userdata;

        if (names->n == ELF_NEAREST_MAX)
                return false;
        if (names->n == names->n_allocated) {
                size_t n = names->n_allocated * 2 + 256;
                const char **more = reallocarray(names->names, n, sizeof(*more));

                if (!more)
                        return false;
                names->names = more;
                names->n_allocated = n;
        }
        names->names[names->n++] = name;
        return true;
}

static int refuse_unknown(Elf *elf, const char *path, const char *name, char **ret_error) {
        Names names = {};
        const char *nearest;
        int r;

        visit_functions(elf, visit_names, &names);
        nearest = text_nearest(name, names.names, names.n);
        if (names.n == 0)
                r = probe_refuse(ret_error,
                                 "%s has no symbols; give the offset, or take a build of it that "
                                 "was not stripped",
                                 path);
        else
                r = probe_refuse(ret_error,
                                 "%s has no function \"%s\"%s%s%s",
                                 path,
                                 name,
                                 nearest ? "; did you mean \"" : "",
                                 nearest ?: "",
                                 nearest ? "\"?" : "");
        free(names.names);
        return r;
}

/* Symbols are addresses in memory; the segments say which part of the file comes there. */
static bool file_offset(Elf *elf, uint64_t address, uint64_t *ret) {
        size_t n;

        if (elf_getphdrnum(elf, &n) < 0)
                return false;
        for (size_t i = 0; i < n; i++) {
                GElf_Phdr segment;

                if (!gelf_getphdr(elf, (int)i, &segment))
                        return false;
                if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) ||
                    address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
                        continue;
                *ret = address - segment.p_vaddr + segment.p_offset;
                return true;
        }
        return false;
}

static int
find_in(uint64_t *ret_offset, Elf *elf, const char *path, const Wanted *wanted, char **ret_error) {
        Search search = { .wanted = wanted };

        visit_functions(elf, visit_search, &search);
        if (!search.has_found)
                return refuse_unknown(elf, path, wanted->name, ret_error);
        if (GELF_ST_TYPE(search.found.st_info) == STT_GNU_IFUNC)
                return probe_refuse(ret_error,
                                    "\"%s\" of %s is one of several functions, chosen when a "
                                    "program starts; name the one that is chosen",
                                    wanted->name,
                                    path);
        if (!file_offset(elf, search.found.st_value + wanted->offset, ret_offset))
                return probe_refuse(ret_error,
                                    "\"%s\" is not in the code of %s: is its file damaged?",
                                    wanted->name,
                                    path);
        return 0;
}

int elf_find_function(uint64_t *ret_offset,
                      int fd,
                      const char *path,
                      const char *symbol,
                      char **ret_error) {
        _cleanup_(elf_endp) Elf *elf = NULL;
        Wanted wanted;

        if (!parse_symbol(&wanted, symbol))
                return probe_refuse(
                        ret_error, "\"%.64s\" is no function; write name or name+offset", symbol);
        if (elf_version(EV_CURRENT) == EV_NONE)
                return -EIO;
        elf = elf_begin(fd, ELF_C_READ, NULL);
        if (!elf || elf_kind(elf) != ELF_K_ELF)
                return probe_refuse(ret_error, "%s is no program or library", path);
        return find_in(ret_offset, elf, path, &wanted, ret_error);
}
