/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Point library: a file that programs have mapped, and where points are in it */

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes/ftrace/elf-file.h"
#include "probes/points/point-library.h"
#include "probes/points/point-place.h"

#define FIELD_CODE_BYTES 96 /* of the function's code, when its field is looked for */

/* The first section of this type, if it and the section with its names may be read. */
static Elf_Scn *find_section(Elf *elf, uint32_t type, GElf_Shdr *ret) {
        Elf_Scn *section = NULL;

        while ((section = elf_nextscn(elf, section)))
                if (gelf_getshdr(section, ret) && ret->sh_type == type)
                        return ret->sh_size <= POINT_TABLE_BYTES_MAX &&
                                               elf_texts_are_sane(
                                                       elf, ret->sh_link, POINT_TABLE_BYTES_MAX)
                                       ? section
                                       : NULL;
        return NULL;
}

static void read_soname(PointLibrary *library) {
        GElf_Shdr header;
        Elf_Scn *section = find_section(library->elf, SHT_DYNAMIC, &header);
        Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
        GElf_Dyn entry;

        for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
                const char *name;

                if (entry.d_tag != DT_SONAME)
                        continue;
                name = elf_strptr(library->elf, header.sh_link, entry.d_un.d_val);
                if (name && strlen(name) < sizeof(library->soname))
                        strcpy(library->soname, name);
                return;
        }
}

int point_library_open(PointLibrary *ret, int fd) {
        PointLibrary library = { .fd = fd };
        GElf_Ehdr header;

        if (elf_file_open(&library.elf, fd, "", NULL) != 0)
                return POINT_LIBRARY_E_OTHER;
        if (!gelf_getehdr(library.elf, &header) || gelf_getclass(library.elf) != ELFCLASS64 ||
            header.e_machine != point_machine()) {
                point_library_close(&library);
                return POINT_LIBRARY_E_OTHER;
        }
        library.machine = header.e_machine;
        read_soname(&library);
        *ret = library;
        return 0;
}

void point_library_close(PointLibrary *library) {
        if (library->has_static_probes)
                static_probes_deinit(&library->static_probes);
        elf_endp(&library->elf);
        *library = (PointLibrary){ .fd = -1 };
}

bool point_library_is_meant(const PointLibrary *library, const Point *point) {
        return *library->soname && fnmatch(point->library, library->soname, 0) == 0;
}

/* The address in memory of an exported function. */
static bool find_symbol(const PointLibrary *library, const char *name, GElf_Sym *ret) {
        GElf_Shdr header;
        Elf_Scn *section = find_section(library->elf, SHT_DYNSYM, &header);
        Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;

        for (int i = 0; data && gelf_getsym(data, i, ret); i++) {
                const char *other;

                if (GELF_ST_TYPE(ret->st_info) != STT_FUNC || ret->st_shndx == SHN_UNDEF)
                        continue;
                other = elf_strptr(library->elf, header.sh_link, ret->st_name);
                if (other && streq(other, name))
                        return true;
        }
        return false;
}

/* The offset of a function in the file, and its first bytes. */
static bool read_function(const PointLibrary *library,
                          const char *name,
                          uint64_t *ret_offset,
                          uint8_t *code,
                          size_t *n_code) {
        GElf_Sym symbol;
        ssize_t n;

        if (!find_symbol(library, name, &symbol) ||
            !elf_file_offset(library->elf, symbol.st_value, PF_X, ret_offset))
                return false;
        n = pread(library->fd, code, *n_code, (off_t)*ret_offset);
        *n_code = n > 0 ? (size_t)n : 0;
        return true;
}

static bool find_field(void *userdata, const char *symbol, uint32_t *ret) {
        const PointLibrary *library = userdata;
        uint8_t code[FIELD_CODE_BYTES];
        size_t n = sizeof(code);
        uint64_t offset;

        return read_function(library, symbol, &offset, code, &n) &&
               point_field_offset(library->machine, code, n, ret);
}

static bool find_static(PointLibrary *library, const Point *point, PointSpot *ret) {
        const StaticProbes *list = &library->static_probes;
        const char *colon = strchr(point->usdt, ':');

        if (!*point->usdt)
                return false;
        if (!library->has_static_probes)
                library->has_static_probes =
                        static_probes_init(&library->static_probes, library->fd, "", NULL) == 0;
        for (size_t i = 0; library->has_static_probes && i < list->n_probes; i++) {
                const StaticProbe *probe = &list->probes[i];

                if (strlen(probe->provider) != (size_t)(colon - point->usdt) ||
                    strncmp(probe->provider, point->usdt, strlen(probe->provider)) != 0 ||
                    !streq(probe->name, colon + 1))
                        continue;
                *ret = (PointSpot){ .offset = probe->offset, .semaphore = probe->semaphore_offset };
                return true;
        }
        return false;
}

int point_library_find(PointLibrary *library, const Point *point, PointSpot *ret) {
        uint8_t code[POINT_CODE_BYTES];
        size_t n = sizeof(code);
        PointPlace place;

        if (find_static(library, point, ret))
                return 0;
        *ret = (PointSpot){};
        if (!*point->symbol || !read_function(library, point->symbol, &ret->offset, code, &n))
                return POINT_LIBRARY_E_NOT_THERE;
        for (size_t i = 0; i < point->n_arguments; i++)
                if (!point_fetch_make(ret->fetches[i],
                                      point->arguments[i].where,
                                      library->machine,
                                      find_field,
                                      library))
                        return POINT_LIBRARY_E_ARGUMENTS;
        place = point_place_choose(library->machine, code, n);
        ret->offset += place.skipped;
        ret->is_expensive = place.is_expensive;
        return place.is_expensive ? POINT_LIBRARY_E_EXPENSIVE : 0;
}
