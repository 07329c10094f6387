/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Memory stays mapped as long as the connection lives: the protocol has no way to take it back.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "producer-port-private.h"
#include "shared/fd.h"

static int port_map(ProducerPort *port, int fd, size_t n_bytes) {
        void *memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (memory == MAP_FAILED)
                return -errno;
        port->memory = memory;
        port->n_memory = n_bytes;
        port->memory_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        return port->memory_fd < 0 ? -errno : 0;
}

void producer_drop_memory(ProducerPort *port) {
        if (port->memory)
                munmap(port->memory, port->n_memory);
        port->memory = NULL;
        port->n_memory = 0;
        port->memory_fd = fd_close(port->memory_fd);
}

/* A page that begins with zeros has no chunks. Reading the file does not allocate its holes; looking for them with
 * lseek() would wait for the file's lock, which its writers can hold as long as they like. */
static bool is_used(const ProducerPort *port, size_t at) {
        uint64_t word = 0;

        return pread(port->memory_fd, &word, sizeof(word), (off_t)at) != sizeof(word) || word != 0;
}

void producer_next_used(const ProducerPort *port, size_t from, size_t *ret_begin, size_t *ret_end) {
        size_t at = from;

        while (at < port->n_memory && !is_used(port, at))
                at += port->page_bytes;
        *ret_begin = MIN(at, port->n_memory);
        while (at < port->n_memory && is_used(port, at))
                at += port->page_bytes;
        *ret_end = MIN(at, port->n_memory);
}

int producer_make_memory(ProducerPort *port,
                         size_t pages_bytes,
                         uint32_t page_bytes,
                         SmbArea *ret) {
        _cleanup_(fd_closep) int fd = -1;
        int r;

        producer_drop_memory(port); /* what an earlier attempt left */
        r = fd_new_sealed_memfd(&fd, "desktrace-producer", pages_bytes);
        if (r < 0)
                return r;
        r = port_map(port, fd, pages_bytes);
        if (r < 0)
                return r;
        port->page_bytes = page_bytes;
        smb_area_create_plain(ret, port->memory, pages_bytes, page_bytes);
        producer_send_memory(port, TAKE_FD(fd), page_bytes);
        return 0;
}

/* Accepts ordinary memory only: touching a page of a hugetlb file that cannot be had raises a signal. */
static int check_memory(int fd, size_t *ret_n_bytes) {
        struct statfs fs;
        struct stat st;
        int r;

        r = fd_check_sealed_memfd(fd, 1);
        if (r < 0)
                return r; /* and ask nothing of a file that is not memory: its file system may not answer */
        if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
                return -errno;
        if (fs.f_type != TMPFS_MAGIC || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
            st.st_size > SMB_PAGES_BYTES_MAX)
                return -EINVAL;
        *ret_n_bytes = (size_t)st.st_size;
        return 0;
}

static const char *refusal(int outcome) {
        if (outcome == PRODUCER_E_LIMIT)
                return "the shared memory that it brings is too much for its user: "
                       "SERVICE_MEMORY_BYTES_PER_USER_MAX";
        return "the shared memory that it brings is not taken: it could be taken away, or its "
               "sizes "
               "are wrong";
}

/* Unsuitable memory is no error: the producer is told, and connects again without it. */
bool producer_bring_memory(ProducerPort *port, int fd, uint64_t page_bytes) {
        size_t n_bytes = 0;
        int r;

        r = check_memory(fd, &n_bytes);
        if (r == 0)
                r = port_map(port, fd, n_bytes);
        if (r == 0)
                r = producer_adopt_memory(
                        port->producer, port->memory, n_bytes, (uint32_t)page_bytes);
        if (r == 0) {
                port->page_bytes = (uint32_t)page_bytes;
                producer_send_memory(port, -1, (uint32_t)page_bytes);
                return true;
        }
        port_connection_log(port->connection, "%s", refusal(r));
        producer_drop_memory(port);
        return false;
}
