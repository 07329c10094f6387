/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Pod reader: values as PipeWire sends them */

#include <string.h>

#include "bridges/pipewire/pod-reader.h"
#include "shared/load.h"
#include "shared/macro.h"
#include "shared/utf8.h"

enum {
        HEADER_BYTES = 8,   /* size, type */
        OBJECT_BYTES = 8,   /* type, id */
        PROPERTY_BYTES = 8, /* key, flags */
        POD_ALIGNMENT = 8,  /* padding behind a pod */
        FRACTION_BYTES = 8,
};

static void pass(PodReader *reader, size_t n) {
        reader->at += MIN(n, reader->n);
        reader->n -= MIN(n, reader->n);
}

bool pod_next(PodReader *reader, Pod *ret) {
        size_t n;

        if (reader->n < HEADER_BYTES || load_u32(reader->at) > reader->n - HEADER_BYTES) {
                reader->n = 0;
                return false;
        }
        n = load_u32(reader->at);
        *ret = (Pod){ load_u32(reader->at + 4), reader->at + HEADER_BYTES, n };
        pass(reader, HEADER_BYTES + n);
        pass(reader,
             ALIGN_UP(n, (size_t)POD_ALIGNMENT) - n); /* the last pod may lack its padding */
        return true;
}

bool pod_next_property(PodReader *reader, uint32_t *ret_key, Pod *ret) {
        if (reader->n < PROPERTY_BYTES) {
                reader->n = 0;
                return false;
        }
        *ret_key = load_u32(reader->at);
        pass(reader, PROPERTY_BYTES);
        return pod_next(reader, ret);
}

bool pod_struct(const Pod *pod, PodReader *ret) {
        pod_reader_init(ret, pod->body, pod->n_body);
        return pod->type == POD_STRUCT;
}

bool pod_object(const Pod *pod, uint32_t type, PodReader *ret) {
        if (pod->type != POD_OBJECT || pod->n_body < OBJECT_BYTES || load_u32(pod->body) != type)
                return false;
        pod_reader_init(ret, pod->body + OBJECT_BYTES, pod->n_body - OBJECT_BYTES);
        return true;
}

/* Takes the next pod, which must be of this type and have at least this many bytes. */
static bool take(PodReader *reader, PodType type, size_t n_min, Pod *ret) {
        if (pod_next(reader, ret) && ret->type == (uint32_t)type && ret->n_body >= n_min)
                return true;
        reader->n = 0;
        return false;
}

bool pod_take_int(PodReader *reader, int32_t *ret) {
        Pod pod;

        if (!take(reader, POD_INT, sizeof(*ret), &pod))
                return false;
        memcpy(ret, pod.body, sizeof(*ret));
        return true;
}

bool pod_take_long(PodReader *reader, int64_t *ret) {
        Pod pod;

        if (!take(reader, POD_LONG, sizeof(*ret), &pod))
                return false;
        memcpy(ret, pod.body, sizeof(*ret));
        return true;
}

bool pod_take_float(PodReader *reader, double *ret) {
        float value;
        Pod pod;

        if (!take(reader, POD_FLOAT, sizeof(value), &pod))
                return false;
        memcpy(&value, pod.body, sizeof(value));
        *ret = (double)value;
        return true;
}

bool pod_take_fraction(PodReader *reader, PodFraction *ret) {
        Pod pod;

        if (!take(reader, POD_FRACTION, FRACTION_BYTES, &pod))
                return false;
        *ret = (PodFraction){ load_u32(pod.body), load_u32(pod.body + 4) };
        return true;
}

static void show_controls_as_spaces(char *text) {
        for (; *text; text++)
                if ((uint8_t)*text < ' ' || *text == 0x7f)
                        *text = ' ';
}

bool pod_take_text(PodReader *reader, char *text, size_t n_text) {
        size_t n;
        Pod pod;

        if (!take(reader, POD_STRING, 0, &pod))
                return false;
        n = MIN(strnlen((const char *)pod.body, pod.n_body), n_text - 1);
        memcpy(text, pod.body, n);
        text[n] = '\0';
        utf8_clean(text);
        show_controls_as_spaces(text);
        return true;
}

bool pod_skip(PodReader *reader, size_t n_pods) {
        Pod pod;

        while (n_pods > 0 && pod_next(reader, &pod))
                n_pods--;
        return n_pods == 0;
}
