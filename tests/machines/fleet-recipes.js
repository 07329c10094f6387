// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Runs the statements of docs/FLEET.md on a tree that "desktrace export fleet" made, in the engine that they are
// written for. Prints the rows of each as one line of JSON.
//
// Usage: fleet-recipes.js ENGINE PAGE      in the directory that "lake" is in; ENGINE: duckdb or clickhouse

const fs = require('fs');

const [engine, page] = process.argv.slice(2);
const blocks = [...fs.readFileSync(page, 'utf8').matchAll(/^```sql (\w+)\n([^]*?)^```$/gm)]
        .filter(block => block[1] === engine)
        .map(block => block[2]);

async function duckdb() {
        const { DuckDBInstance } = require('@duckdb/node-api');
        const connection = await (await DuckDBInstance.create(':memory:')).connect();
        return async sql => (await connection.runAndReadAll(sql)).getRowObjectsJson();
}

async function clickhouse() {
        const { Session } = require('chdb');
        const session = new Session();
        const rows = text => text.trim().split('\n').filter(Boolean).map(line => JSON.parse(line));
        return async sql => rows(session.query(sql, 'JSONEachRow'));
}

(async () => {
        const ask = await { duckdb, clickhouse }[engine]();
        for (const statement of blocks.join('').split(/;\s*\n/).filter(text => text.trim()))
                console.log(JSON.stringify(await ask(statement)));
})().catch(error => {
        console.error(String(error));
        process.exit(1);
});
