/* SPDX-License-Identifier: LGPL-2.1-or-later */

// Lanes: what is below what in the picture, and what each row is called.

const HEAD_HEIGHT = 24;
const LINE_HEIGHT = 18;
const VALUES_HEIGHT = 34;
const STATES_HEIGHT = 8;
const LANE_GAP = 4;
const FLOWS_SHOWN = 100;
const STACK_SHOWN = 128;
const RAN_ROWS = 20000;
const RAN_SHOWN = 3;

// Its rows are call stacks.
function hasStacks(lane) {
  return lane.kind === "sleeps" || isCounted(lane.kind);
}

// They take no time, and each row may stand for several.
function isCounted(kind) {
  return kind === "samples" || kind === "faults";
}

function heightOfLine(lane) {
  if (lane.kind === "values") return VALUES_HEIGHT;
  return lane.kind === "states" || hasStacks(lane) ? STATES_HEIGHT : LINE_HEIGHT;
}

function heightOf(lane) {
  const height = heightOfLine(lane);
  return height === LINE_HEIGHT ? lane.lines.length * height : height;
}

class Lanes {
  constructor(data, words) {
    this.data = data;
    this.words = words;
    this.items = [];
    this.closed = new Set();
    data.groups.forEach((group, index) => {
      group.index = index;
      for (const lane of group.lanes) {
        lane.group = group;
        this.measure(lane);
      }
    });
    // What is open at first: the machine, and programs that say more of themselves than when they ran.
    for (const group of data.groups)
      if (group.counters || (group.upid !== undefined && !group.lanes.some((lane) => lane.kind === "slices")))
        this.closed.add(group);
    this.indexFlows();
    this.place();
  }

  indexFlows() {
    this.flows = new Map();
    this.tracks = new Map();
    for (const group of this.data.groups) for (const lane of group.lanes) if (lane.track !== undefined) this.tracks.set(lane.track, lane);
    for (const flow of this.data.flows)
      for (const end of [flow.out, flow.in]) {
        const key = `${end.track}/${end.depth}`;
        if (!this.flows.has(key)) this.flows.set(key, []);
        this.flows.get(key).push({ at: end.at, flow });
      }
    for (const list of this.flows.values()) list.sort((a, b) => a.at - b.at);
  }

  // Flows that begin or end in a row; in one that several are drawn as, those of all.
  flowsOf({ lane, line, row }) {
    if (row === undefined || lane.kind !== "slices") return [];
    const list = this.flows.get(`${lane.track}/${lane.lines.indexOf(line)}`) ?? [];
    const last = line.more[row] ? line.end[row] : line.start[row];
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle].at < line.start[row]) low = middle + 1;
      else high = middle;
    }
    const found = [];
    for (let i = low; i < list.length && list[i].at <= last && found.length < FLOWS_SHOWN; i++) found.push(list[i].flow);
    return found;
  }

  measure(lane) {
    if (lane.kind !== "values") return;
    lane.low = Infinity;
    lane.high = -Infinity;
    for (const value of lane.lines[0]?.value ?? []) {
      if (!Number.isFinite(value)) continue;
      lane.low = Math.min(lane.low, value);
      lane.high = Math.max(lane.high, value);
    }
    if (lane.low > 0) lane.low = 0;
  }

  place() {
    let y = 0;
    this.items = [];
    this.itemOfLane = new Map();
    for (const group of this.data.groups) {
      if (!group.lanes.length) continue;
      this.items.push({ y, height: HEAD_HEIGHT, group });
      y += HEAD_HEIGHT;
      if (this.closed.has(group)) continue;
      for (const lane of group.lanes) {
        const height = heightOf(lane);
        const item = { y, height, group, lane };
        this.items.push(item);
        this.itemOfLane.set(lane, item);
        y += height + LANE_GAP;
      }
    }
    this.height = y;
  }

  toggle(group) {
    if (!this.closed.delete(group)) this.closed.add(group);
    this.place();
  }

  open(group) {
    if (this.closed.delete(group)) this.place();
  }

  firstAt(y) {
    let low = 0;
    let high = this.items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.items[middle].y + this.items[middle].height < y) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  itemOf(lane) {
    return this.itemOfLane.get(lane);
  }

  nameOfGroup(group) {
    if (group.counters) return this.words.counters;
    return group.upid === undefined ? this.words.machine : `${group.name || "?"} ${group.pid ?? ""}`;
  }

  nameOfThread(utid) {
    const thread = this.data.threads[utid];
    return thread ? `${thread[1] || "?"} ${thread[0]}` : "?";
  }

  nameOfLane(lane) {
    if (lane.kind === "logs") return `${this.words.log} ${lane.priority}`;
    if (lane.kind === "states") return this.nameOfThread(lane.thread);
    if (lane.kind === "samples") return `${this.words.stacks} ${this.nameOfThread(lane.thread)}`;
    if (lane.kind === "sleeps") return `${this.words.sleeps} ${this.nameOfThread(lane.thread)}`;
    if (lane.kind === "faults") return `${this.words.faults} ${this.nameOfThread(lane.thread)}`;
    const name = lane.name || (lane.thread === undefined ? "" : this.nameOfThread(lane.thread));
    return lane.cpu === undefined ? name : `${name} ${lane.cpu}`;
  }

  count(kind, n) {
    return `${n} ${kind === "faults" ? this.words.nFaults : this.words.samples}`;
  }

  // The name of a row: a thread's program comes first, as CPUs are looked at for programs.
  nameOf(lane, what) {
    if (hasStacks(lane)) return this.nameOfFunction(what);
    if (lane.kind !== "cpu") return this.data.names[what] ?? "";
    const thread = this.data.threads[what];
    if (!thread || what === 0) return "";
    const program = this.programOf(thread);
    return program && program !== thread[1] ? `${program} · ${thread[1]}` : thread[1];
  }

  // A stack is named after its innermost function; its number is 0 when the sample has none.
  nameOfFunction(stack) {
    const name = stack ? this.data.names[this.data.stacks[2 * stack - 1]] : "";
    return name || "?";
  }

  // The functions of a stack, outermost first.
  stackOf(stack) {
    const names = [];
    for (; stack && names.length < STACK_SHOWN; stack = this.data.stacks[2 * stack - 2]) names.unshift(this.nameOfFunction(stack));
    return names.length ? names : ["?"];
  }

  programOf(thread) {
    return this.data.processes[thread[2]] || "";
  }

  // The group of a thread's process; none if the recording does not tell.
  ownerOf(utid) {
    const upid = this.data.threads[utid]?.[2] ?? -1;
    return upid < 0 ? undefined : this.data.groups.find((group) => group.upid === upid);
  }

  // What rows of the same colour have in common: on CPUs the program.
  keyOf(lane, what) {
    if (hasStacks(lane)) return this.nameOfFunction(what);
    if (lane.kind !== "cpu") return this.data.names[what] ?? "";
    const thread = this.data.threads[what];
    return what === 0 || !thread ? null : this.programOf(thread) || thread[1];
  }

  nameOfState(name) {
    if (name === "Running") return this.words.running;
    if (name.startsWith("R")) return this.words.runnable;
    if (name.startsWith("S") || name.startsWith("I")) return this.words.sleeping;
    if (name.startsWith("D")) return this.words.blocked;
    return name;
  }

  // Who had the CPUs in a time, the longest first: of what waited for one then, that is the cause.
  whoRan(from, to) {
    const sums = new Map();
    for (const lane of this.data.groups.flatMap((group) => group.lanes)) {
      if (lane.kind !== "cpu") continue;
      const line = lane.lines[0];
      const first = firstAfter(line, from);
      for (let row = first; row < line.n && row < first + RAN_ROWS && line.start[row] < to; row++) {
        const name = this.keyOf(lane, line.what[row]);
        const took = Math.min(line.end[row], to) - Math.max(line.start[row], from);
        if (name !== null && took > 0) sums.set(name, (sums.get(name) ?? 0) + took);
      }
    }
    return [...sums].sort((a, b) => b[1] - a[1]).slice(0, RAN_SHOWN);
  }

  // All rows whose name has the text in it, in the order of time, up to a limit.
  find(text, limit) {
    const wanted = text.toLowerCase();
    const found = [];
    const isMatch = this.data.names.map((name) => name.toLowerCase().includes(wanted));
    for (const group of this.data.groups)
      for (const lane of group.lanes) {
        if (lane.kind !== "slices" && lane.kind !== "logs") continue;
        for (const line of lane.lines)
          for (let row = 0; row < line.n && found.length < limit; row++)
            if (isMatch[line.what[row]]) found.push({ lane, line, row });
      }
    return found.sort((a, b) => a.line.start[a.row] - b.line.start[b.row]);
  }
}
