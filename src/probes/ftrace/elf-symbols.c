/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* ELF symbols: where in a program's file a function is */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/probe.h"
#include "probes/ftrace/elf-file.h"
#include "probes/ftrace/elf-symbols.h"
#include "shared/text.h"

#define NAME_BYTES_MAX 512 /* C++ has long ones */

typedef struct Wanted {
        char name[NAME_BYTES_MAX];
        uint64_t offset;
} Wanted;

/* What one pass over the functions of a file does; false ends it. */
typedef bool (*FunctionVisit)(void *userdata, const char *name, const GElf_Sym *symbol);

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

static bool is_table(Elf *elf, Elf_Scn *section, GElf_Shdr *ret) {
        return gelf_getshdr(section, ret) &&
               (ret->sh_type == SHT_SYMTAB || ret->sh_type == SHT_DYNSYM) &&
               elf_section_is_sane(ret) &&
               elf_texts_are_sane(elf, ret->sh_link, ELF_TABLE_BYTES_MAX);
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
        else if (nearest)
                r = probe_refuse(ret_error,
                                 "%s has no function \"%s\"; did you mean \"%s\"?",
                                 path,
                                 name,
                                 nearest);
        else
                r = probe_refuse(ret_error, "%s has no function \"%s\"", path, name);
        free(names.names);
        return r;
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
        if (!elf_file_offset(elf, search.found.st_value + wanted->offset, PF_X, ret_offset))
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
        int r;

        if (!parse_symbol(&wanted, symbol))
                return probe_refuse(
                        ret_error, "\"%.64s\" is no function; write name or name+offset", symbol);
        r = elf_file_open(&elf, fd, path, ret_error);
        if (r != 0)
                return r;
        return find_in(ret_offset, elf, path, &wanted, ret_error);
}

typedef struct PlaceSearch {
        Elf *elf;
        uint64_t offset;
        bool has_found;
} PlaceSearch;

static bool visit_place(void *userdata, const char *name, const GElf_Sym *symbol) {
        PlaceSearch *search = userdata;
        uint64_t offset;

        search->has_found = elf_file_offset(search->elf, symbol->st_value, PF_X, &offset) &&
                            offset == search->offset;
        return !search->has_found;
}

int elf_has_function_at(bool *ret, int fd, const char *path, uint64_t offset, char **ret_error) {
        _cleanup_(elf_endp) Elf *elf = NULL;
        PlaceSearch search = { .offset = offset };
        int r;

        r = elf_file_open(&elf, fd, path, ret_error);
        if (r != 0)
                return r;
        search.elf = elf;
        visit_functions(elf, visit_place, &search);
        *ret = search.has_found;
        return 0;
}
