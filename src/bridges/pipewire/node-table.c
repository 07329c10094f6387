/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Node table: whose processes PipeWire's nodes are in */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bridges/pipewire/node-table.h"

int node_table_init(NodeTable *table) {
        table->objects = calloc(NODE_TABLE_MAX, sizeof(*table->objects));
        return table->objects ? 0 : -ENOMEM;
}

void node_table_deinit(NodeTable *table) {
        free(table->objects);
        table->objects = NULL;
}

NodeObject *node_table_get(const NodeTable *table, uint32_t id) {
        return id < NODE_TABLE_MAX ? &table->objects[id] : NULL;
}

NodeObject *node_table_set(NodeTable *table, uint32_t id, NodeKind kind) {
        NodeObject *object = node_table_get(table, id);

        if (object)
                *object = (NodeObject){
                        .kind = kind,
                        .client = NODE_ID_UNKNOWN,
                        .factory = NODE_ID_UNKNOWN,
                };
        return object;
}

void node_table_clear(NodeTable *table) {
        memset(table->objects, 0, NODE_TABLE_MAX * sizeof(*table->objects));
}

static const NodeObject *find(const NodeTable *table, uint32_t id, NodeKind kind) {
        const NodeObject *object = node_table_get(table, id);

        return object && object->kind == kind ? object : NULL;
}

pid_t node_table_pid(const NodeTable *table, uint32_t id) {
        const NodeObject *node = find(table, id, NODE_NODE);
        const NodeObject *client;

        if (!node || node->is_device || find(table, node->factory, NODE_FACTORY))
                return 0;
        client = find(table, node->client, NODE_CLIENT);
        return client ? client->pid : 0;
}
