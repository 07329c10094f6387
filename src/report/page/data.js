/* SPDX-License-Identifier: LGPL-2.1-or-later */
"use strict";

// Data: from the text in the page to lanes with columns of numbers. docs/REPORT.md has the format.

const VERSION = 2;
const UNFINISHED = -1;

async function unpack(text) {
  const binary = atob(text);
  const packed = new Uint8Array(binary.length);
  for (let i = 0; i < packed.length; i++) packed[i] = binary.charCodeAt(i);
  const stream = new DecompressionStream("deflate");
  const writer = stream.writable.getWriter();
  // Damage is told by who reads.
  writer.write(packed).catch(() => {});
  writer.close().catch(() => {});
  return new Uint8Array(await new Response(stream.readable).arrayBuffer());
}

// Numbers of seven bits in a byte, lowest first. They may be larger than 32 bits, so no shifts past these.
class Numbers {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  // A page has millions of them, most of which are small: the common cases come first, and nothing is called.
  fill(list) {
    const { bytes } = this;
    let { at } = this;
    for (let i = 0; i < list.length; i++) {
      let byte = bytes[at++];
      let number = byte & 127;
      if (byte > 127) {
        byte = bytes[at++];
        number |= (byte & 127) << 7;
        if (byte > 127) {
          byte = bytes[at++];
          number |= (byte & 127) << 14;
          for (let factor = 2 ** 21; byte > 127; factor *= 128) {
            byte = bytes[at++];
            number += (byte & 127) * factor;
          }
        }
      }
      list[i] = number;
    }
    if (at > bytes.length) throw new Error("a column is too short");
    this.at = at;
    return list;
  }

  next() {
    return this.fill([0])[0];
  }
}

function readHead(bytes) {
  const n = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + n)));
  if (head.version !== VERSION) throw new Error("another version");
  let at = 4 + n;
  const columns = head.columns.map((length) => {
    const column = bytes.subarray(at, at + length);
    at += length;
    return column;
  });
  return [head, columns];
}

function readValues(line, values, view) {
  for (let i = 0; i < line.n; i++, view.at += 8) values[i] = view.data.getFloat64(view.at, true);
}

// A line: starts and ends after the begin of the recording in nanoseconds, what each is, and how many stand in it.
function readLine(n, isValues, columns, view, duration) {
  const line = { n, start: columns[0].fill(new Float64Array(n)), end: new Float64Array(n) };
  for (let i = 1; i < n; i++) line.start[i] += line.start[i - 1];
  if (isValues) {
    line.value = new Float64Array(n);
    readValues(line, line.value, view);
    for (let i = 0; i < n; i++) line.end[i] = i + 1 < n ? line.start[i + 1] : duration;
    return line;
  }
  columns[1].fill(line.end);
  line.what = columns[2].fill(new Uint32Array(n));
  line.more = columns[3].fill(new Uint32Array(n));
  line.open = new Set();
  for (let i = 0; i < n; i++) {
    const took = line.end[i] - 1;
    if (took === UNFINISHED) line.open.add(i);
    line.end[i] = took === UNFINISHED ? duration : line.start[i] + took;
  }
  return line;
}

// Ends of flows: the time, the track and the depth of both slices. The sign of a distance is in its lowest bit.
function readFlows(n, numbers) {
  const signed = () => {
    const number = numbers.next();
    return number % 2 ? -(number - 1) / 2 - 1 : number / 2;
  };
  const flows = [];
  let before = 0;
  for (let i = 0; i < n; i++) {
    const out = { at: (before += signed()), track: numbers.next(), depth: numbers.next() };
    flows.push({ out, in: { at: out.at + signed(), track: numbers.next(), depth: numbers.next() } });
  }
  return flows;
}

async function readData(text) {
  const [head, columns] = readHead(await unpack(text));
  const numbers = columns.slice(0, 4).map((column) => new Numbers(column));
  const values = columns[4];
  const view = { data: new DataView(values.buffer, values.byteOffset, values.length), at: 0 };
  for (const group of head.groups)
    for (const lane of group.lanes)
      lane.lines = lane.lines.map((n) => readLine(n, lane.kind === "values", numbers, view, head.duration));
  head.flows = readFlows(head.flows, new Numbers(columns[5]));
  return head;
}

// The first row of a line that ends after a time: rows of a line do not overlap.
function firstAfter(line, time) {
  let low = 0;
  let high = line.n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (line.end[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The first row from a row on for which a column has a time or later: it is looked for in steps that double, as it is
// near mostly.
function firstIn(column, n, time, row) {
  let low = row;
  let step = 1;
  while (low + step < n && column[low + step] < time) {
    low += step;
    step *= 2;
  }
  let high = Math.min(low + step, n);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The first row that starts at a time or later.
function firstFrom(line, time) {
  return firstIn(line.start, line.n, time, 0);
}

function formatValue(value, unit) {
  if (!unit || !unit.startsWith("byte")) return `${Number(value.toPrecision(6))} ${unit ?? ""}`.trim();
  const power = Math.min(Math.floor(Math.log2(Math.max(Math.abs(value), 1)) / 10), 4);
  return `${Number((value / 1024 ** power).toPrecision(4))} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
}

const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

function formatTime(ns, step = 0) {
  if (ns === 0) return "0 s";
  const [factor, unit] = UNITS.find(([size]) => Math.abs(ns) >= size) ?? [1, "ns"];
  const digits = step > 0 ? Math.min(9, Math.max(0, Math.ceil(Math.log10(factor / step)))) : 3;
  return `${(ns / factor).toFixed(digits).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "")} ${unit}`;
}
