/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Node table: whose processes PipeWire's nodes are in
 *
 * Sans-I/O. PipeWire says of each of its objects what it is when it appears. A node names the client that asked for it,
 * which is where it runs unless PipeWire made it: for a device, or by its own factory of adapters. What a program's
 * node says of its factory is the number of one in that program; these are lower than that factory's, which is made
 * late. Numbers are small, and used again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NODE_TABLE_MAX  4096 /* numbers of objects that are known; of higher ones nothing is */
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
                int64_t cycles_until_ns; /* and of a driver's cycles */
                int64_t number; /* of the last cycle, and how many there were of all drivers by then */
                uint64_t n_before;
                int32_t n_xruns;
                bool has_cycles; /* else the last three mean nothing */
        } written;               /* of the recorder */
} NodeObject;

typedef struct NodeTable {
        NodeObject *objects;
} NodeTable;

/* 0 or -ENOMEM. */
int node_table_init(NodeTable *table);
void node_table_deinit(NodeTable *table);

/* An object that has appeared, or one that is gone: NODE_NONE. Nothing but its kind is known yet. NULL: its number is
 * too high. */
NodeObject *node_table_set(NodeTable *table, uint32_t id, NodeKind kind);
/* NULL: its number is too high. */
NodeObject *node_table_get(const NodeTable *table, uint32_t id);
void node_table_clear(NodeTable *table);

/* In which process a node runs; 0: in PipeWire's own, or it is not known. */
pid_t node_table_pid(const NodeTable *table, uint32_t id);
