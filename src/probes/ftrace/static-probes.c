/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Prelinking moves code without changing the notes. So a note also says where the section .stapsdt.base was: everything
 * in the note has moved as far as that section has.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/probe.h"
#include "probes/ftrace/static-probes.h"

#define NOTE_OWNER   "stapsdt"
#define NOTE_TYPE    3
#define NOTE_SECTION ".note.stapsdt"
#define BASE_SECTION ".stapsdt.base"

typedef struct Addresses {
        uint64_t place, base, semaphore;
} Addresses;

/* A text of the note, which must end inside the note. */
static const char *take_text(const char **at, const char *end) {
        const char *text = *at, *nul = memchr(text, '\0', (size_t)(end - text));

        if (!nul)
                return NULL;
        *at = nul + 1;
        return text;
}

static bool take_addresses(Elf *elf, const char **at, const char *end, Addresses *ret) {
        size_t n_bytes = 3 * gelf_fsize(elf, ELF_T_ADDR, 1, EV_CURRENT);
        union {
                Elf64_Addr wide[3];
                Elf32_Addr narrow[3];
        } words;
        Elf_Data from = { .d_buf = (char *)*at, .d_size = n_bytes, .d_type = ELF_T_ADDR },
                 to = { .d_buf = &words, .d_size = sizeof(words) };
        const char *ident = elf_getident(elf, NULL);

        from.d_version = to.d_version = EV_CURRENT;
        if (n_bytes == 0 || (size_t)(end - *at) < n_bytes ||
            !gelf_xlatetom(elf, &to, &from, (unsigned char)ident[EI_DATA]))
                return false;
        *at += n_bytes;
        if (gelf_getclass(elf) == ELFCLASS64)
                *ret = (Addresses){ words.wide[0], words.wide[1], words.wide[2] };
        else
                *ret = (Addresses){ words.narrow[0], words.narrow[1], words.narrow[2] };
        return true;
}

static int add(StaticProbes *list, const StaticProbe *probe) {
        if (list->n_probes == list->n_allocated) {
                size_t n = list->n_allocated * 2 + 16;
                StaticProbe *more = reallocarray(list->probes, n, sizeof(*more));

                if (!more)
                        return -ENOMEM;
                list->probes = more;
                list->n_allocated = n;
        }
        list->probes[list->n_probes++] = *probe;
        return 0;
}

/* An invalid note is skipped. */
static int add_note(StaticProbes *list, const char *note, size_t n_note, uint64_t base) {
        const char *end = note + n_note;
        Addresses addresses;
        StaticProbe probe = {};

        if (!take_addresses(list->elf, &note, end, &addresses))
                return 0;
        probe.provider = take_text(&note, end);
        probe.name = probe.provider ? take_text(&note, end) : NULL;
        probe.arguments = probe.name ? take_text(&note, end) : NULL;
        if (!probe.arguments || !*probe.provider || !*probe.name)
                return 0;
        if (base && addresses.base) {
                addresses.place += base - addresses.base;
                if (addresses.semaphore)
                        addresses.semaphore += base - addresses.base;
        }
        if (!elf_file_offset(list->elf, addresses.place, PF_X, &probe.offset) ||
            (addresses.semaphore &&
             !elf_file_offset(list->elf, addresses.semaphore, PF_W, &probe.semaphore_offset)))
                return 0;
        return add(list, &probe);
}

static int add_notes(StaticProbes *list, Elf_Scn *section, uint64_t base) {
        Elf_Data *data = elf_getdata(section, NULL);
        size_t at = 0, name, content;
        GElf_Nhdr header;
        int r = 0;

        while (r == 0 && data && list->n_probes < STATIC_PROBES_MAX &&
               (at = gelf_getnote(data, at, &header, &name, &content)) > 0) {
                const char *bytes = data->d_buf;

                if (header.n_type == NOTE_TYPE && header.n_namesz == sizeof(NOTE_OWNER) &&
                    memcmp(bytes + name, NOTE_OWNER, sizeof(NOTE_OWNER)) == 0)
                        r = add_note(list, bytes + content, header.n_descsz, base);
        }
        return r;
}

/* The next section of that name after `section` (from the first one on if that is NULL), with its header. */
static Elf_Scn *find_section(Elf *elf, Elf_Scn *section, const char *wanted, GElf_Shdr *ret) {
        size_t names;

        if (elf_getshdrstrndx(elf, &names) < 0)
                return NULL;
        while ((section = elf_nextscn(elf, section))) {
                const char *name =
                        gelf_getshdr(section, ret) ? elf_strptr(elf, names, ret->sh_name) : NULL;

                if (name && streq(name, wanted))
                        return section;
        }
        return NULL;
}

/* Each look-up of a section's name reads the table of names. */
static bool names_are_sane(Elf *elf) {
        size_t names;

        return elf_getshdrstrndx(elf, &names) >= 0 &&
               elf_texts_are_sane(elf, names, STATIC_NOTES_BYTES_MAX);
}

static int read_notes(StaticProbes *list) {
        Elf_Scn *section = NULL;
        GElf_Shdr header;
        GElf_Ehdr file;
        uint64_t base = 0;
        int r = 0;

        if (!gelf_getehdr(list->elf, &file) || !names_are_sane(list->elf))
                return 0;
        list->machine = file.e_machine;
        if (find_section(list->elf, NULL, BASE_SECTION, &header))
                base = header.sh_addr;
        while (r == 0 && (section = find_section(list->elf, section, NOTE_SECTION, &header)))
                if (header.sh_type == SHT_NOTE && header.sh_size <= STATIC_NOTES_BYTES_MAX)
                        r = add_notes(list, section, base);
        return r;
}

int static_probes_init(StaticProbes *ret, int fd, const char *path, char **ret_error) {
        StaticProbes list = {};
        int r;

        r = elf_file_open(&list.elf, fd, path, ret_error);
        if (r != 0)
                return r;
        r = read_notes(&list);
        if (r < 0)
                static_probes_deinit(&list);
        else
                *ret = list;
        return r;
}

void static_probes_deinit(StaticProbes *list) {
        free(list->probes);
        elf_endp(&list->elf);
        *list = (StaticProbes){};
}
