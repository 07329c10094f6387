/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Descriptors of the fields that programs add to TrackEvent. The service only passes them on. It checks the bytes just
 * far enough that a trace with them can still be read.
 */

#include <errno.h>

#include "core/events/extension.h"
#include "core/events/service-packets.h"
#include "core/model/service.h"
#include "core/model/session.h"
#include "wire/wire-reader.h"

#define DESCRIPTORS_SHARE 4 /* the largest share of max_file_size_bytes that they may take */

static bool is_message(const void *data, size_t n) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, data, n);
        while ((r = wire_read(&reader, &field)) > 0)
                if (field.number != 1 || field.type != WIRE_BYTES) /* FileDescriptorSet.file */
                        return false;
        return r == 0 && n > 0;
}

static bool is_gzip_member(const uint8_t *data, size_t n) {
        return n > 18 && data[0] == 0x1f && data[1] == 0x8b; /* RFC 1952 */
}

static void descriptor_deinit(ExtensionDescriptor *descriptor) {
        free(descriptor->file_name);
        bytes_deinit(&descriptor->data);
}

int service_add_descriptor(Service *service,
                           const char *file_name,
                           const void *data,
                           size_t n,
                           bool is_gzip) {
        ExtensionDescriptor added = { .is_gzip = is_gzip }, *grown;

        if (!(is_gzip ? is_gzip_member(data, n) : is_message(data, n)))
                return SERVICE_E_INVALID;
        if (n > SERVICE_DESCRIPTORS_BYTES_MAX - service->n_descriptor_bytes)
                return SERVICE_E_LIMIT;
        grown = reallocarray(service->descriptors, service->n_descriptors + 1, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        service->descriptors = grown;
        added.file_name = strdup(file_name);
        if (!added.file_name || bytes_append(&added.data, data, n) < 0) {
                descriptor_deinit(&added);
                return -ENOMEM;
        }
        service->descriptors[service->n_descriptors++] = added;
        service->n_descriptor_bytes += n;
        return 0;
}

bool service_has_descriptor(const Service *service, const char *file_name) {
        for (size_t i = 0; i < service->n_descriptors; i++)
                if (streq(service->descriptors[i].file_name, file_name))
                        return true;
        return false;
}

void service_free_descriptors(Service *service) {
        for (size_t i = 0; i < service->n_descriptors; i++)
                descriptor_deinit(&service->descriptors[i]);
        free(service->descriptors);
}

static bool session_wants_descriptors(const Session *session) {
        const Perfetto__Protos__TraceConfig *config = session->config->pb;

        if (config->builtin_data_sources &&
            config->builtin_data_sources->disable_extension_descriptors)
                return false;
        return !session->options.has_output || config->max_file_size_bytes == 0 ||
               session->service->n_descriptor_bytes <=
                       config->max_file_size_bytes / DESCRIPTORS_SHARE;
}

int session_put_descriptors(Session *session, Bytes *out) {
        const Service *service = session->service;
        int r = 0;

        if (!session_wants_descriptors(session))
                return 0;
        for (size_t i = 0; i < service->n_descriptors && r == 0; i++)
                r = packet_put_extension(out,
                                         &service->info,
                                         service->descriptors[i].is_gzip,
                                         &service->descriptors[i].data,
                                         service->descriptors[i].file_name);
        return r;
}
