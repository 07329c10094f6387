/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Walk: the call stack of the thread that asks */

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "heap/stack-bounds.h"
#include "heap/walk.h"
#include "shared/macro.h"

#define NOTES_BYTES_MAX 4096u

typedef int (*FindObject)(void *, struct dl_find_object *);

static FindObject find_object;

/* The bytes of a file, as they were loaded. */
typedef struct LoadedFile {
        ModuleReader reader;
        uint64_t bias;
        const ElfW(Phdr) * segments;
        size_t n_segments;
} LoadedFile;

bool walker_has_stacks(void) {
        if (!find_object) {
                void *found = dlsym(RTLD_DEFAULT, "_dl_find_object");

                memcpy(&find_object, &found, sizeof(found));
        }
#ifdef __x86_64__
        return find_object != NULL;
#else
        return false;
#endif
}

/*
 * Files in memory
 */

/* The headers are in the first page. */
static bool load_headers(LoadedFile *ret, const struct dl_find_object *object) {
        const ElfW(Ehdr) *header = object->dlfo_map_start;
        const uint64_t size =
                (uint64_t)((uintptr_t)object->dlfo_map_end - (uintptr_t)object->dlfo_map_start);

        if (size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
            header->e_phentsize != sizeof(*ret->segments) || header->e_phoff > size ||
            header->e_phnum > (size - header->e_phoff) / sizeof(*ret->segments))
                return false;
        ret->bias = object->dlfo_link_map->l_addr;
        ret->segments = (const void *)((const uint8_t *)header + header->e_phoff);
        ret->n_segments = header->e_phnum;
        return true;
}

/* Where an offset of the file is in memory, and how many bytes of the segment follow it. */
static int64_t lend(ModuleReader *reader, const uint8_t **ret, size_t n_bytes, uint64_t offset) {
        const LoadedFile *file = container_of(reader, LoadedFile, reader);

        for (size_t i = 0; i < file->n_segments; i++) {
                const ElfW(Phdr) *segment = &file->segments[i];

                if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_R) ||
                    offset < segment->p_offset || offset - segment->p_offset >= segment->p_filesz)
                        continue;
                *ret = (const uint8_t *)(uintptr_t)(file->bias + segment->p_vaddr + offset -
                                                    segment->p_offset);
                return (int64_t)MIN((uint64_t)n_bytes,
                                    (uint64_t)(segment->p_filesz - (offset - segment->p_offset)));
        }
        return -ENOENT;
}

static int64_t read_loaded(ModuleReader *reader, void *buffer, size_t n_bytes, uint64_t offset) {
        const uint8_t *bytes;
        const int64_t n = lend(reader, &bytes, n_bytes, offset);

        if (n > 0)
                memcpy(buffer, bytes, (size_t)n);
        return n;
}

static void find_segments(WalkModule *module, const LoadedFile *file) {
        for (size_t i = 0; i < file->n_segments; i++) {
                const ElfW(Phdr) *segment = &file->segments[i];

                if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) ||
                    module->n_segments == WALK_SEGMENTS_MAX)
                        continue;
                module->segments[module->n_segments++] = (Mapping){
                        .start = file->bias + segment->p_vaddr,
                        .end = file->bias + segment->p_vaddr + segment->p_memsz,
                        .offset = segment->p_offset,
                        .file = &module->code,
                };
        }
}

static void find_build_id(WalkModule *module, LoadedFile *file, BuildIdKind kind) {
        for (size_t i = 0; i < file->n_segments && module->n_build_id == 0; i++) {
                const ElfW(Phdr) *segment = &file->segments[i];
                const uint8_t *notes;
                int64_t n;

                if (segment->p_type != PT_NOTE)
                        continue;
                n = lend(&file->reader,
                         &notes,
                         (size_t)MIN((uint64_t)segment->p_filesz, (uint64_t)NOTES_BYTES_MAX),
                         segment->p_offset);
                if (n > 0)
                        module->n_build_id =
                                elf_notes_build_id(module->build_id, notes, (size_t)n, kind);
        }
}

/* A file without tables has a module, too, but that has no rows. */
static void read_module(WalkModule *module, LoadedFile *file, bool has_unwinder) {
        const int r = has_unwinder ? module_new(&module->code.module, &file->reader) : -EOPNOTSUPP;

        module->code.state = r == 0 || r == MODULE_E_NO_FRAMES ? CODE_READ : CODE_OPAQUE;
        find_segments(module, file);
        find_build_id(module, file, BUILD_ID_GNU);
        find_build_id(module, file, BUILD_ID_GO);
}

static const char *path_of(const Walker *walker, const struct dl_find_object *object) {
        const char *name = object->dlfo_link_map->l_name;

        return name && *name ? name : walker->program;
}

static WalkModule *add_module(Walker *walker, const struct dl_find_object *object) {
        LoadedFile file = { .reader = { .read = read_loaded, .lend = lend } };
        WalkModule *module = &walker->modules[walker->n_modules + 1];

        if (walker->n_modules + 1 == SITE_MODULES_MAX || !load_headers(&file, object))
                return NULL;
        *module = (WalkModule){
                .link_map = object->dlfo_link_map,
                .frames = object->dlfo_eh_frame,
                .start = (uint64_t)(uintptr_t)object->dlfo_map_start,
                .end = (uint64_t)(uintptr_t)object->dlfo_map_end,
                .bias = file.bias,
                .path = strdup(path_of(walker, object)),
        };
        if (!module->path)
                return NULL;
        read_module(module, &file, walker->unwinder != NULL);
        walker->n_modules++;
        return module;
}

/* What lay here before has been unloaded, so what we remember of its addresses is not true anymore. */
static void drop_overlapping(Walker *walker, const struct dl_find_object *object) {
        const uint64_t start = (uint64_t)(uintptr_t)object->dlfo_map_start;
        const uint64_t end = (uint64_t)(uintptr_t)object->dlfo_map_end;

        for (uint32_t i = 1; i <= walker->n_modules; i++) {
                WalkModule *module = &walker->modules[i];

                if (module->start >= end || module->end <= start)
                        continue;
                module->start = module->end = 0;
                address_space_clear(&walker->space);
        }
}

static WalkModule *find_module(Walker *walker, uint64_t address) {
        struct dl_find_object object;

        if (!find_object || find_object((void *)(uintptr_t)address, &object) != 0)
                return NULL;
        for (uint32_t i = 1; i <= walker->n_modules; i++) {
                WalkModule *module = &walker->modules[i];

                if (module->start == (uint64_t)(uintptr_t)object.dlfo_map_start &&
                    module->link_map == object.dlfo_link_map &&
                    module->frames == object.dlfo_eh_frame &&
                    streq(module->path, path_of(walker, &object)))
                        return module;
        }
        drop_overlapping(walker, &object);
        return add_module(walker, &object);
}

/* The unwinder calls this for each address that it does not remember. */
static const Mapping *find_mapping(const AddressSpace *space, uint64_t address) {
        Walker *walker = container_of(space, Walker, space);
        const WalkModule *module = find_module(walker, address);

        for (size_t i = 0; module && i < module->n_segments; i++)
                if (address >= module->segments[i].start && address < module->segments[i].end)
                        return &module->segments[i];
        return NULL;
}

/*
 * Walks
 */

static atomic_bool is_doubted;

void walkers_doubt(void) {
        atomic_store(&is_doubted, true);
}

static void walker_look_again(Walker *walker) {
        if (atomic_load_explicit(&is_doubted, memory_order_relaxed) &&
            atomic_exchange(&is_doubted, false))
                address_space_clear(&walker->space);
}

int walker_init(Walker *walker) {
        /* A sanitizer that looks for leaks searches static memory, too. */
        static WalkModule modules[SITE_MODULES_MAX];
        const ssize_t n = readlink("/proc/self/exe", walker->buffer, sizeof(walker->buffer) - 1);
        int r;

        walker->buffer[MAX(n, 0)] = 0;
        (void)walker_has_stacks();
        walker->program = strdup(n > 0 ? walker->buffer : program_invocation_name);
        walker->modules = modules;
        if (!walker->program)
                return -ENOMEM;
        address_space_init(&walker->space);
        walker->space.find = find_mapping;
#ifdef __x86_64__
        r = unwinder_new(&walker->unwinder, EM_X86_64);
#else
        r = -EOPNOTSUPP;
#endif
        return r == -EOPNOTSUPP ? 0 : r;
}

static SiteFrame word(uint64_t number) {
        return (SiteFrame){ .address = number, .module = SITE_NO_MODULE };
}

static size_t walk_caller(Walker *walker, SiteFrame *ret, const WalkStart *start) {
        const WalkModule *module = find_module(walker, start->caller - 1);
        size_t n = 0;

        walker->n_incomplete++;
        if (module)
                ret[n++] = (SiteFrame){
                        .address = start->caller - 1 - module->bias,
                        .module = (uint32_t)(module - walker->modules),
                };
        ret[n++] = word(SITE_WORD_TRUNCATED);
        return n;
}

static UnwindRegisters registers_of(const WalkStart *start) {
        UnwindRegisters registers = { .pc = start->pc, .known = 1u << 3 | 1u << 6 | 1u << 7 };

        registers.values[3] = start->base;
        registers.values[6] = start->frame;
        registers.values[7] = start->sp;
        return registers;
}

static size_t take_frames(const Walker *walker, SiteFrame *ret, bool is_complete) {
        const Unwinder *unwinder = walker->unwinder;
        size_t n = 0;

        for (size_t i = 0; i < unwinder->n_frames && n < SITE_STACK_FRAMES_MAX - 1; i++)
                if (unwinder->frames[i].file)
                        ret[n++] = (SiteFrame){
                                .address = unwinder->frames[i].address,
                                .module = (uint32_t)(container_of(unwinder->frames[i].file,
                                                                  WalkModule,
                                                                  code) -
                                                     walker->modules),
                        };
        if (!is_complete)
                ret[n++] = word(SITE_WORD_TRUNCATED);
        return n;
}

size_t walker_run(Walker *walker, SiteFrame *ret, const WalkStart *start, HeapThread *thread) {
        const UnwindRegisters registers = registers_of(start);
        UnwindStack stack = { .address = start->sp, .bytes = (const void *)(uintptr_t)start->sp };
        bool is_complete;

        walker_look_again(walker);
        if (!walker->unwinder)
                return walk_caller(walker, ret, start);
        if (start->sp < thread->stack_start || start->sp >= thread->stack_end) {
                stack_bounds_find(thread, start->sp, walker->buffer, sizeof(walker->buffer));
                walker->n_stacks_looked_up++;
        }
        stack.n_bytes = (size_t)(thread->stack_end - start->sp);
        is_complete = unwinder_run(walker->unwinder, &walker->space, &registers, &stack) ==
                      UNWIND_COMPLETE;
        walker->n_complete += is_complete;
        walker->n_incomplete += !is_complete;
        return take_frames(walker, ret, is_complete);
}
