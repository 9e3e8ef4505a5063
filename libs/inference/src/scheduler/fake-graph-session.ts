import type { GraphSession, GraphTensor, TensorDescription, TensorType } from '../runtime/graph-session.js';

/** Request of one run of the fake. */
export interface FakeRun {
  batch: number;
  steps: number;
  capacity: number;
  pastLengths: number[];
  fetches: readonly string[];
}

export interface FakeOptions {
  vocabularySize?: number;
  topSize?: number;
  /** Returns the token that most likely follows a context; absent or null: none is. */
  favors?: (context: readonly number[]) => number | null;
  /** Called before each run; a thrown error becomes the run's error. */
  beforeRun?: (run: FakeRun) => void;
  /** Whether the graph returns the logits of any places of a run. */
  picksLogits?: boolean;
  /** A row that contains this token computes NaN from then on. */
  poisonToken?: number;
}

/** Added to the logit of a favored token: most draws take it, but not all. */
const favor = 9;

const heads = 2;
const dimension = 3;
const caches = 4;

/**
 * A split graph in memory, for tests of the scheduler. Its "keys and values" are the token ids, and the next token
 * depends on every token before it, so any cache error changes the text. Like the real graph it multiplies masked
 * positions, so a NaN in its inputs spoils the row that contains it.
 */
export class FakeGraphSession implements GraphSession {
  readonly provider = 'fake';
  readonly providerNote = null;
  readonly inputs: TensorDescription[];
  readonly outputs: TensorDescription[];
  readonly runs: FakeRun[] = [];
  readonly vocabularySize: number;
  private readonly topSize: number;
  isReleased = false;

  constructor(private readonly options: FakeOptions = {}) {
    this.vocabularySize = options.vocabularySize ?? 97;
    this.topSize = options.topSize ?? 8;
    const past = pastNames.map((name) => ({ name, type: 'float32', shape: ['batch', heads, 'capacity', dimension] }));
    const places = options.picksLogits === true ? 'logit_places' : 'last_index';
    const integers = ['input_ids', 'past_lens', places, 'wanted_ids'].map((name) => ({
      name,
      type: 'int64',
      shape: ['batch'],
    }));
    this.inputs = [...integers, ...past];
    this.outputs = [
      { name: 'logits', type: 'float32', shape: ['batch', this.vocabularySize] },
      { name: 'topk_values', type: 'float32', shape: ['batch', this.topSize] },
      { name: 'topk_ids', type: 'int64', shape: ['batch', this.topSize] },
      { name: 'lse', type: 'float32', shape: ['batch'] },
      { name: 'wanted_logits', type: 'float32', shape: ['batch', 'wanted'] },
      { name: 'new_kv', type: 'float32', shape: [caches, 'batch', heads, 'steps', dimension] },
    ];
  }

  tensor(type: TensorType, data: GraphTensor['data'], dims: readonly number[]): GraphTensor {
    return { type, data, dims };
  }

  async run(feeds: Record<string, GraphTensor>, fetches: readonly string[]): Promise<Record<string, GraphTensor>> {
    await new Promise((resolve) => setImmediate(resolve));
    const [batch = 0, steps = 0] = feeds['input_ids']?.dims ?? [];
    const pastLengths = integersOf(feeds['past_lens']);
    const capacity = feeds[pastNames[0] ?? '']?.dims[2] ?? 0;
    const run: FakeRun = { batch, steps, capacity, pastLengths, fetches };
    this.options.beforeRun?.(run);
    this.runs.push(run);
    const tokens = integersOf(feeds['input_ids']);
    const places = placesOf(feeds);
    const logits = new Float32Array(places.length * this.vocabularySize);
    const newKv = new Float32Array(caches * batch * heads * steps * dimension);
    for (let rowIndex = 0; rowIndex < batch; rowIndex++) {
      const fresh = tokens.slice(rowIndex * steps, (rowIndex + 1) * steps);
      fillNew(newKv, fresh, { row: rowIndex, batch, steps, poison: this.options.poisonToken });
      const past = readPast(feeds, rowIndex, capacity, pastLengths[rowIndex] ?? 0);
      places.forEach((place, index) => {
        if (place.row !== rowIndex) return;
        const context = [...past, ...fresh.slice(0, place.step + 1)];
        const row = logits.subarray(index * this.vocabularySize, (index + 1) * this.vocabularySize);
        row.set(logitsAfter(context, this.vocabularySize, this.options.poisonToken));
        const favored = this.options.favors?.(context) ?? null;
        if (favored !== null) row[favored] = (row[favored] ?? 0) + favor;
      });
    }
    const wantedIds = integersOf(feeds['wanted_ids']);
    return this.outputsOf({ logits, places: places.length, newKv, batch, steps, wantedIds }, fetches);
  }

  release(): Promise<void> {
    this.isReleased = true;
    return Promise.resolve();
  }

  private outputsOf(
    result: {
      logits: Float32Array;
      places: number;
      newKv: Float32Array;
      batch: number;
      steps: number;
      wantedIds: number[];
    },
    fetches: readonly string[],
  ): Record<string, GraphTensor> {
    const { logits, places, newKv, batch, steps, wantedIds } = result;
    const width = wantedIds.length / places;
    const rows = Array.from({ length: places }, (_, row) =>
      logits.subarray(row * this.vocabularySize, (row + 1) * this.vocabularySize),
    );
    const top = rows.map((row) => Array.from(row.keys()).sort((a, b) => (row[b] ?? 0) - (row[a] ?? 0) || a - b));
    const best = top.map((ids) => ids.slice(0, this.topSize));
    const all: Record<string, GraphTensor> = {
      logits: this.tensor('float32', logits, [places, this.vocabularySize]),
      topk_values: this.tensor(
        'float32',
        Float32Array.from(best.flatMap((ids, row) => ids.map((id) => rows[row]?.[id] ?? 0))),
        [places, this.topSize],
      ),
      topk_ids: this.tensor('int64', BigInt64Array.from(best.flat(), BigInt), [places, this.topSize]),
      lse: this.tensor('float32', Float32Array.from(rows, logSumExp), [places]),
      wanted_logits: this.tensor(
        'float32',
        Float32Array.from(wantedIds, (id, place) => rows[Math.floor(place / width)]?.[id] ?? NaN),
        [places, width],
      ),
      new_kv: this.tensor('float32', newKv, [caches, batch, heads, steps, dimension]),
    };
    return Object.fromEntries(fetches.flatMap((name) => (all[name] ? [[name, all[name]]] : [])));
  }
}

/** Batch row and step of each place whose logits are returned. */
function placesOf(feeds: Record<string, GraphTensor>): { row: number; step: number }[] {
  if (feeds['last_index']) return integersOf(feeds['last_index']).map((step, row) => ({ row, step }));
  const places = integersOf(feeds['logit_places']);
  return Array.from({ length: places.length / 2 }, (_, place) => {
    return { row: places[2 * place] ?? 0, step: places[2 * place + 1] ?? 0 };
  });
}

const pastNames = ['0.key', '0.value', '1.key', '1.value'].map((name) => `past_key_values.${name}`);

/** Returns the fake's logits for a context; flat enough for sampling to matter. */
export function logitsAfter(context: readonly number[], vocabularySize: number, poison?: number): Float32Array {
  const isPoisoned = context.some((token) => Number.isNaN(token) || token === poison);
  let hash = 17;
  for (const token of context) hash = (Math.imul(hash, 31) + token + 1) >>> 0;
  return Float32Array.from({ length: vocabularySize }, (_, id) => {
    let mixed = Math.imul(hash ^ (id * 0x9e3779b1), 0x85ebca6b) >>> 0;
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35) >>> 0;
    return isPoisoned ? NaN : (mixed % 100_000) / 16_000;
  });
}

/** Returns the greedy continuation of a prompt, without a cache. */
export function greedyAlone(prompt: readonly number[], count: number, vocabularySize = 97): number[] {
  const context = [...prompt];
  for (let step = 0; step < count; step++) {
    const logits = logitsAfter(context, vocabularySize);
    context.push(logits.indexOf(Math.max(...logits)));
  }
  return context.slice(prompt.length);
}

/** Every cache, head and dimension contains the token plus its own offset, so that a mix-up is detected. */
function mark(cache: number, head: number, index: number): number {
  return cache * 1000 + head * 10_000 + index * 100_000;
}

function fillNew(
  target: Float32Array,
  tokens: readonly number[],
  { row, batch, steps, poison }: { row: number; batch: number; steps: number; poison: number | undefined },
): void {
  for (let cache = 0; cache < caches; cache++) {
    for (let head = 0; head < heads; head++) {
      tokens.forEach((token, step) => {
        const start = (((cache * batch + row) * heads + head) * steps + step) * dimension;
        const isPoisoned = tokens.slice(0, step + 1).some((earlier) => earlier === poison);
        for (let index = 0; index < dimension; index++) {
          target[start + index] = isPoisoned ? NaN : token + mark(cache, head, index);
        }
      });
    }
  }
}

function readPast(feeds: Record<string, GraphTensor>, row: number, capacity: number, length: number): number[] {
  const context = new Array<number>(length).fill(0);
  pastNames.forEach((name, cache) => {
    const data = feeds[name]?.data;
    if (!(data instanceof Float32Array)) throw new TypeError(`${name} is missing.`);
    for (let head = 0; head < heads; head++) {
      const start = (row * heads + head) * capacity * dimension;
      const part = data.subarray(start, start + capacity * dimension);
      if (part.some(Number.isNaN)) context.fill(NaN);
      for (let position = 0; position < length; position++) {
        for (let index = 0; index < dimension; index++) {
          const token = (part[position * dimension + index] ?? NaN) - mark(cache, head, index);
          if (cache + head + index === 0) context[position] = token;
          else if (!Object.is(context[position], token))
            throw new Error(`Position ${position} of ${name} is mixed up.`);
        }
      }
    }
  });
  return context;
}

function integersOf(tensor: GraphTensor | undefined): number[] {
  if (!(tensor?.data instanceof BigInt64Array)) throw new TypeError('An integer input is missing.');
  return Array.from(tensor.data, Number);
}

function logSumExp(row: Float32Array): number {
  const best = Math.max(...row);
  return best + Math.log(row.reduce((sum, value) => sum + Math.exp(value - best), 0));
}
