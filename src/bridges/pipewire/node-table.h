/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Node table: whose processes PipeWire's nodes are in
 *
 * Sans-I/O. PipeWire describes each of its objects when the object appears. A node names the client that asked for it
 * and runs in that client, unless PipeWire made the node: for a device, or with its own factory of adapters. The
 * factory that a program's node names is one inside that program; its number is lower than that of PipeWire's factory,
 * which is made late. Numbers are small, and used again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NODE_TABLE_MAX  4096 /* objects with higher numbers are not known */
#define NODE_ID_UNKNOWN UINT32_MAX

typedef enum NodeKind {
        NODE_NONE,
        NODE_CLIENT,
        NODE_FACTORY, /* of PipeWire's own nodes */
        NODE_NODE,
} NodeKind;

typedef struct NodeObject {
        NodeKind kind;
        pid_t pid;                /* of a client */
        uint32_t client, factory; /* of a node; NODE_ID_UNKNOWN: none is named */
        bool is_device;
        struct {
                int64_t until_ns;        /* slices of the node are written until then */
                int64_t cycles_until_ns; /* and slices of a driver's cycles */
                int64_t number;          /* of the last cycle */
                uint64_t n_before;       /* how many cycles of all drivers there were by then */
                int32_t n_xruns;
                bool has_cycles; /* otherwise the last three fields mean nothing */
        } written;               /* by the recorder */
} NodeObject;

typedef struct NodeTable {
        NodeObject *objects;
} NodeTable;

/* Returns 0 or -ENOMEM. */
int node_table_init(NodeTable *table);
void node_table_deinit(NodeTable *table);

/* Notes that an object of this kind has appeared, or with NODE_NONE that it is gone. The rest is still unknown.
 * Returns NULL if its number is too high. */
NodeObject *node_table_set(NodeTable *table, uint32_t id, NodeKind kind);
/* Returns NULL if its number is too high. */
NodeObject *node_table_get(const NodeTable *table, uint32_t id);
void node_table_clear(NodeTable *table);

/* The process in which a node runs; 0: PipeWire's own, or an unknown one. */
pid_t node_table_pid(const NodeTable *table, uint32_t id);
