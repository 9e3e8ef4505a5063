import { describe, expect, it } from 'vitest';
import type { GraphTensor } from '../runtime/graph-session.js';
import { FakeGraphSession } from './fake-graph-session.js';
import { type RowState, RowStates } from './row-states.js';
import type { StateSnapshot } from './state-snapshots.js';

const names = { past: 'past_states.0.inputs', present: 'new_states.0.inputs' };
const limits = { total: 4, perRow: 3 };

function open(limit = limits): RowStates {
  return new RowStates(new FakeGraphSession(), [{ ...names, dimensions: [2, 3] }], limit);
}

/** Outputs of a run over some rows: each state is six times a number. */
function outputsOf(numbers: readonly number[]): Record<string, GraphTensor> {
  const data = Float32Array.from(numbers.flatMap((number) => new Array<number>(6).fill(number)));
  return { [names.present]: { type: 'float32', data, dims: [numbers.length, 2, 3] } };
}

function statesOf(states: RowStates, numbers: readonly number[]): RowState[] {
  const read = states.read(
    outputsOf(numbers),
    numbers.map(() => true),
  );
  return read.filter((state) => state !== null);
}

/** The numbers of the states that a run over these rows reads, and its buffer. */
function pastOf(states: RowStates, rows: readonly (RowState | null)[]) {
  const { feeds, release } = states.past(rows);
  const tensor = feeds[names.past];
  const data = tensor?.data as Float32Array;
  expect(tensor?.dims).toEqual([rows.length, 2, 3]);
  return { numbers: rows.map((_, row) => data[row * 6 + 5]), buffer: data.buffer, data, release };
}

describe('the states of rows', () => {
  it('are passed on without a copy to rows that ran together', () => {
    const states = open();
    const rows = statesOf(states, [1, 2, 3]);
    const all = pastOf(states, rows);
    expect(all.numbers).toEqual([1, 2, 3]);
    expect(all.buffer).toBe(rows[0]?.batch.buffers[0]?.buffer);
    const last = pastOf(states, rows.slice(1));
    expect([last.numbers, last.buffer]).toEqual([[2, 3], all.buffer]);
  });

  it('are gathered where rows joined, left or moved, and are zeros before the first token', () => {
    const states = open();
    const [one, two] = statesOf(states, [1, 2]);
    const [three] = statesOf(states, [3]);
    expect(pastOf(states, [two ?? null, one ?? null]).numbers).toEqual([2, 1]);
    expect(pastOf(states, [one ?? null, three ?? null, null]).numbers).toEqual([1, 3, 0]);
  });

  it('stay what they were for a row that does not take a new one', () => {
    const states = open();
    expect(states.read(outputsOf([1, 2]), [true, false]).map((state) => state?.index)).toEqual([0, undefined]);
  });

  it('free their memory with the last row and run that has it', () => {
    const states = open();
    const rows = statesOf(states, [1, 2]);
    const buffer = rows[0]?.batch.buffers[0];
    const run = pastOf(states, rows);
    for (const row of rows) row.release();
    expect(buffer?.length).toBe(12);
    run.release();
    expect(buffer?.length).toBe(0);
    const gathered = pastOf(states, [...statesOf(states, [1]), null]);
    gathered.release();
    expect(gathered.data.length).toBe(0);
  });

  it('are freed if no row takes them', () => {
    const outputs = outputsOf([1, 2]);
    const { data } = outputs[names.present] as GraphTensor;
    open().read(outputs, [false, false]);
    expect((data as Float32Array).length).toBe(0);
  });
});

describe('snapshots of states', () => {
  it('are spread over a row, and the newest is always there', () => {
    const states = open({ total: 100, perRow: 4 });
    const snapshots: StateSnapshot<RowState>[] = [];
    for (let length = 64; length <= 1_024; length += 64) {
      states.addTo(snapshots, length, statesOf(states, [length])[0] ?? expect.fail());
      expect(snapshots.at(-1)?.length).toBe(length);
    }
    const lengths = snapshots.map(({ length }) => length);
    expect(lengths).toHaveLength(4);
    const gaps = lengths.map((length, place) => length - (lengths[place - 1] ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(512);
    expect(snapshots.map(({ state }) => state?.batch.buffers[0]?.[0])).toEqual(lengths);
    expect(states.keptCount).toBe(4);
  });

  it('drop the least recently used of all rows beyond the limit', () => {
    const states = open();
    const all = [1, 2, 3, 4].map((number) => {
      const [state] = statesOf(states, [number]);
      return states.snapshot(number, state ?? expect.fail());
    });
    states.touch(all[0] ?? expect.fail());
    all.push(states.snapshot(5, statesOf(states, [5])[0] ?? expect.fail()));
    expect(all.map(({ state }) => state !== null)).toEqual([true, false, true, true, true]);
    expect(states.keptCount).toBe(4);
    // A row forgets what it lost when it gets the next one, which drops another here.
    const snapshots = all.slice(0, 3);
    states.addTo(snapshots, 9, statesOf(states, [9])[0] ?? expect.fail());
    expect(snapshots.map(({ length, state }) => [length, state !== null])).toEqual([
      [1, true],
      [3, false],
      [9, true],
    ]);
  });

  it('are kept until the last row with this beginning is gone, without the rows beside them', () => {
    const states = open();
    const [, second] = statesOf(states, [7, 8]);
    const snapshot = states.snapshot(20, second ?? expect.fail());
    expect(snapshot.state?.batch.rows).toBe(1);
    const buffer = snapshot.state?.batch.buffers[0];
    snapshot.holders++;
    states.drop(snapshot);
    expect([states.keptCount, buffer?.[0]]).toEqual([1, 8]);
    states.drop(snapshot);
    expect([states.keptCount, buffer?.length]).toEqual([0, 0]);
  });
});
