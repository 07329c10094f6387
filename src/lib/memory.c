/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Memory: the shared memory of one connection, mapped */

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/library.h"
#include "lib/memory.h"
#include "lib/pool.h"
#include "shared/assert-in-tests.h"
#include "shared/fd.h"

static int map(Memory *memory, int fd) {
        struct stat st;

        /* The memory must be sealed: if the file could shrink, the application might get a SIGBUS. */
        if (fd_check_sealed_memfd(fd, 1) < 0 || fstat(fd, &st) < 0)
                return -EBADMSG;
        memory->address = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory->address == MAP_FAILED) {
                memory->address = NULL;
                return -errno;
        }
        memory->n_bytes = (size_t)st.st_size;
        return 0;
}

/* The kernel's own inodes, such as an eventfd's, are the only ones without a type. */
static mode_t file_type(int fd) {
        struct stat st;

        return fstat(fd, &st) < 0 ? S_IFREG : st.st_mode & S_IFMT;
}

/* Threads write to the doorbell in the middle of events: a file could keep them, and a pipe that nobody reads, or a
 * socket, end the program with SIGPIPE. The bell is read by the private thread alone. */
static bool descriptors_are_valid(int doorbell_fd, int bell_fd) {
        if (file_type(doorbell_fd) != 0)
                return false;
        return bell_fd < 0 || file_type(bell_fd) == 0 || file_type(bell_fd) == S_IFSOCK;
}

static int duplicate(int *ret, int fd) {
        *ret = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (*ret < 0)
                return -errno;
        fd_mark(*ret);
        library_fork_close(*ret);
        return 0;
}

static void close_duplicate(int fd) {
        if (fd < 0)
                return;
        library_fork_keep(fd);
        fd_close_marked(fd);
}

/* Called on threads that are in the middle of an event. */
static void on_starving(SmbProducer *producer) {
        Memory *memory = container_of(producer, Memory, producer);

        atomic_store(&memory->is_starving, true);
        library_wake();
}

int memory_new(Memory **ret, int memory_fd, int doorbell_fd, int bell_fd) {
        _cleanup_(memory_unrefp) Memory *memory = pool_new(sizeof(*memory));
        SmbArea area;
        int r;

        if (!memory)
                return -ENOMEM;
        atomic_init(&memory->n_ref, 1);
        memory->doorbell_fd = memory->bell_fd = -1;
        if (!descriptors_are_valid(doorbell_fd, bell_fd))
                return -EBADMSG;
        r = duplicate(&memory->doorbell_fd, doorbell_fd);
        if (r == 0 && bell_fd >= 0)
                r = duplicate(&memory->bell_fd, bell_fd);
        if (r < 0)
                return r;
        r = map(memory, memory_fd);
        if (r < 0)
                return r;
        r = smb_area_attach(&area, memory->address, memory->n_bytes);
        if (r < 0)
                return r;
        smb_producer_init(&memory->producer, &area, memory->doorbell_fd);
        memory->producer.starving = on_starving;
        *ret = TAKE(memory);
        return 0;
}

/* The new bell gets the old one's number, as threads may be about to ring it. It is marked first, because threads
 * do not ring an unmarked one. */
static int replace(int fd, int by) {
        fd_mark(by);
        return dup3(by, fd, O_CLOEXEC) < 0 ? -errno : 0;
}

bool memory_has_its_fds(const Memory *memory) {
        return fd_is_marked(memory->doorbell_fd) &&
               (memory->bell_fd < 0 || fd_is_marked(memory->bell_fd));
}

int memory_set_bells(Memory *memory, int doorbell_fd, int bell_fd) {
        int r;

        if (!descriptors_are_valid(doorbell_fd, bell_fd) || !memory_has_its_fds(memory))
                return -EBADMSG;
        r = replace(memory->doorbell_fd, doorbell_fd);
        if (r < 0)
                return r;
        /* A thread may have rung the one before meanwhile, which nobody hears, and then rings no more. */
        fd_ring_marked(memory->doorbell_fd);
        if (bell_fd < 0)
                return 0;
        return memory->bell_fd < 0 ? duplicate(&memory->bell_fd, bell_fd)
                                   : replace(memory->bell_fd, bell_fd);
}

Memory *memory_ref(Memory *memory) {
        atomic_fetch_add_explicit(&memory->n_ref, 1, memory_order_relaxed);
        return memory;
}

Memory *memory_unref(Memory *memory) {
        if (!memory || atomic_fetch_sub_explicit(&memory->n_ref, 1, memory_order_acq_rel) > 1)
                return NULL;

        /* Each writer holds a reference. */
        assert_in_tests(atomic_load(&memory->producer.n_writers) == 0);
        if (memory->address)
                munmap(memory->address, memory->n_bytes);
        close_duplicate(memory->doorbell_fd);
        close_duplicate(memory->bell_fd);
        return pool_free(memory);
}
