/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A kept file is a GrantFile followed by the source's bytes. Its name means nothing.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probes/grant.h"
#include "probes/probe-registry.h"
#include "shared/fd.h"
#include "shared/list.h"
#include "shared/log.h"
#include "shared/names.h"
#include "wire/wire-reader.h"

#define FILE_NAME_BYTES 32

enum {
        CONFIG_TRACING_SESSION_ID = 4,
};

/* What the service tells a data source: data_source_config.proto. */
static const uint32_t service_fields[] = { 2, 3, CONFIG_TRACING_SESSION_ID, 6, 7, 122 };

typedef struct GrantFile {
        uint64_t session_id;
        uint64_t duration_ms;
        uint32_t uid;
        uint32_t gid;
} GrantFile;

/* One data source of those that were allowed. */
typedef struct GrantPart {
        List parts;
        uint64_t grant;       /* all sources of one recording have the same */
        uint64_t session_id;  /* 0: no part of the grant was used yet */
        uint64_t duration_ms; /* 0: until stopped */
        uint64_t until;       /* CLOCK_BOOTTIME, ns */
        ProbeOwner owner;
        uint8_t *bytes;
        size_t n_bytes;
} GrantPart;

struct GrantBook {
        List parts; /* not used yet */
        size_t n_parts;
        uint64_t last_grant;
        uint64_t last_file;
        int directory; /* -1: nothing is kept */
};

struct GrantUse {
        GrantBook *book;
        GrantPart *part;
        char file[FILE_NAME_BYTES]; /* empty: not kept */
};

/*
 * Parts
 */

static GrantPart *part_free(GrantPart *part) {
        if (!part)
                return NULL;
        list_unlink(&part->parts);
        free(part->bytes);
        free(part);
        return NULL;
}
DEFINE_CLEANUP(GrantPart *, part_free)

static int part_new(GrantPart **ret, const void *bytes, size_t n) {
        _cleanup_(part_freep) GrantPart *part = calloc(1, sizeof(*part));

        if (!part)
                return -ENOMEM;
        list_init(&part->parts);
        part->bytes = malloc(MAX(n, (size_t)1));
        if (!part->bytes)
                return -ENOMEM;
        if (n > 0)
                memcpy(part->bytes, bytes, n);
        part->n_bytes = n;
        *ret = TAKE(part);
        return 0;
}

static void book_put(GrantBook *book, GrantPart *part) {
        list_append(&book->parts, &part->parts);
        book->n_parts++;
}

static void book_drop(GrantBook *book, GrantPart *part) {
        book->n_parts--;
        part_free(part);
}

static void book_forget(GrantBook *book, uint64_t now) {
        GrantPart *part;

        list_for_each (part, &book->parts, parts)
                if (part->until <= now)
                        book_drop(book, part);
}

static bool is_of_owner(const Config *config, size_t i) {
        const Perfetto__Protos__DataSourceConfig *source = config->pb->data_sources[i]->config;

        return source && source->name && streq(source->name, TRACING_OWN_STACKS_SOURCE);
}

/* Other data sources may be named as well if they belong to other programs, but not if they record the machine. */
static bool is_of_machine(const Config *config, size_t i) {
        const Perfetto__Protos__DataSourceConfig *source = config->pb->data_sources[i]->config;

        for (size_t n = 0; source && source->name && n < n_machine_probes; n++)
                if (streq(source->name, machine_probes[n]->name))
                        return !is_of_owner(config, i);
        return false;
}

bool grant_is_own_only(const Config *config) {
        bool has_own = false;

        for (size_t i = 0; i < config->pb->n_data_sources; i++) {
                if (is_of_machine(config, i))
                        return false;
                has_own |= is_of_owner(config, i);
        }
        return has_own;
}

int grant_book_add(GrantBook *book, const Config *config, const GrantOwner *owner, uint64_t now) {
        const bool has_triggers =
                config->pb->trigger_config && config->pb->trigger_config->trigger_mode;
        uint64_t grant = ++book->last_grant;

        book_forget(book, now);
        if (book->n_parts + config->pb->n_data_sources > GRANTS_MAX)
                return GRANT_E_LIMIT;
        for (size_t i = 0; i < config->pb->n_data_sources; i++) {
                GrantPart *part;
                int r;

                if (owner->is_own_only && !is_of_owner(config, i))
                        continue;
                r = part_new(&part, config->sources[i].bytes, config->sources[i].n_bytes);
                if (r < 0)
                        return r;
                part->grant = grant;
                part->duration_ms = has_triggers ? 0 : config->pb->duration_ms;
                part->until = now + GRANT_WAIT_NS;
                part->owner = owner->owner;
                book_put(book, part);
        }
        return 0;
}

/*
 * Uses
 */

static bool is_service_field(const WireField *field) {
        for (size_t i = 0; i < ARRAY_SIZE(service_fields); i++)
                if (field->number == service_fields[i])
                        return field->type == WIRE_VARINT;
        return false;
}

/* Whether a config is the part's bytes, followed by nothing but the service's own fields. *ret_session_id comes from
 * these. */
static bool
part_is_of(const GrantPart *part, const uint8_t *config, size_t n, uint64_t *ret_session_id) {
        WireReader reader;
        WireField field;
        int r;

        *ret_session_id = 0;
        if (n < part->n_bytes || memcmp(config, part->bytes, part->n_bytes) != 0)
                return false;
        wire_reader_init(&reader, config + part->n_bytes, n - part->n_bytes);
        while ((r = wire_read(&reader, &field)) > 0) {
                if (!is_service_field(&field))
                        return false;
                if (field.number == CONFIG_TRACING_SESSION_ID)
                        *ret_session_id = field.value;
        }
        return r == 0 && *ret_session_id != 0;
}

/* Prefers a part of the session's own grant to a part that no session has used yet. */
static GrantPart *
book_find(GrantBook *book, const uint8_t *config, size_t n, uint64_t *ret_session_id) {
        GrantPart *part, *found = NULL;

        list_for_each (part, &book->parts, parts) {
                uint64_t session_id;

                if (!part_is_of(part, config, n, &session_id) ||
                    (part->session_id != 0 && part->session_id != session_id))
                        continue;
                if (!found || (found->session_id == 0 && part->session_id != 0))
                        found = part;
                *ret_session_id = session_id;
        }
        return found;
}

/* The whole grant belongs to this session from now on. */
static void book_bind(GrantBook *book, uint64_t grant, uint64_t session_id) {
        GrantPart *part;

        list_for_each (part, &book->parts, parts)
                if (part->grant == grant)
                        part->session_id = session_id;
}

static int write_file(int fd, const GrantPart *part) {
        const GrantFile head = {
                .session_id = part->session_id,
                .duration_ms = part->duration_ms,
                .uid = part->owner.uid,
                .gid = part->owner.gid,
        };
        int r;

        r = fd_write_all(fd, &head, sizeof(head));
        return r < 0 ? r : fd_write_all(fd, part->bytes, part->n_bytes);
}

/* If it cannot be kept, the recording ends with a crash, but no earlier. */
static void use_keep(GrantUse *use) {
        _cleanup_(fd_closep) int fd = -1;
        GrantBook *book = use->book;
        int r;

        if (book->directory < 0)
                return;
        snprintf(use->file, sizeof(use->file), "%d-%" PRIu64, (int)getpid(), ++book->last_file);
        fd = openat(book->directory, use->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        r = fd < 0 ? -errno : write_file(fd, use->part);
        if (r >= 0)
                return;
        log_warning("cannot keep what is recorded for the case of a crash: %s", strerror(-r));
        if (fd >= 0)
                unlinkat(book->directory, use->file, 0);
        use->file[0] = '\0';
}

int grant_use_new(GrantUse **ret, GrantBook *book, const void *config, size_t n, uint64_t now) {
        uint64_t session_id = 0;
        GrantPart *part;
        GrantUse *use;

        book_forget(book, now);
        part = book_find(book, config, n, &session_id);
        if (!part)
                return GRANT_E_NONE;
        use = calloc(1, sizeof(*use));
        if (!use)
                return -ENOMEM;
        book_bind(book, part->grant, session_id);
        list_unlink(&part->parts);
        book->n_parts--;
        *use = (GrantUse){ .book = book, .part = part };
        use_keep(use);
        *ret = use;
        return 0;
}

GrantUse *grant_use_free(GrantUse *use) {
        if (!use)
                return NULL;
        if (use->file[0])
                unlinkat(use->book->directory, use->file, 0);
        part_free(use->part);
        free(use);
        return NULL;
}

uint64_t grant_use_longest_ns(const GrantUse *use) {
        if (use->part->duration_ms == 0)
                return UINT64_MAX;
        return use->part->duration_ms * 1000000 + GRANT_SLACK_NS;
}

ProbeOwner grant_use_owner(const GrantUse *use) {
        return use->part->owner;
}

/*
 * After a crash
 */

/* It is used once: if it makes us crash again, the next process goes on without it. */
static int load_file(GrantBook *book, const char *name, uint64_t now) {
        _cleanup_(freep) char *data = NULL;
        GrantPart *part;
        GrantFile head;
        size_t n;
        int r;

        r = fd_read_file(&data, &n, book->directory, name, sizeof(head) + CONFIG_BYTES_MAX);
        unlinkat(book->directory, name, 0);
        if (r < 0 || n < sizeof(head))
                return r < 0 ? r : -EBADMSG;
        memcpy(&head, data, sizeof(head));
        r = part_new(&part, data + sizeof(head), n - sizeof(head));
        if (r < 0)
                return r;
        part->grant = ++book->last_grant;
        part->session_id = head.session_id;
        part->duration_ms = head.duration_ms;
        part->until = now + GRANT_WAIT_NS;
        part->owner = (ProbeOwner){ head.uid, head.gid };
        book_put(book, part);
        return 0;
}

static int load_directory(GrantBook *book, const char *path, uint64_t now) {
        struct dirent *entry;
        DIR *directory;

        book->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (book->directory < 0)
                return -errno;
        directory = opendir(path);
        if (!directory)
                return -errno;
        while ((entry = readdir(directory))) {
                int r = entry->d_name[0] == '.' ? 0 : load_file(book, entry->d_name, now);

                if (r < 0)
                        log_warning("cannot go on with what was recorded before a crash (%s): %s",
                                    entry->d_name,
                                    strerror(-r));
        }
        closedir(directory);
        return 0;
}

int grant_book_new(GrantBook **ret, const char *directory, uint64_t now) {
        GrantBook *book = calloc(1, sizeof(*book));
        int r;

        if (!book)
                return -ENOMEM;
        list_init(&book->parts);
        book->directory = -1;
        r = directory ? load_directory(book, directory, now) : 0;
        if (r < 0)
                log_warning("cannot keep what is recorded in %s: %s", directory, strerror(-r));
        *ret = book;
        return 0;
}

GrantBook *grant_book_free(GrantBook *book) {
        GrantPart *part;

        if (!book)
                return NULL;
        list_for_each (part, &book->parts, parts)
                part_free(part);
        fd_close(book->directory);
        free(book);
        return NULL;
}
