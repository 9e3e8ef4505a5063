import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expectLogits, logitsOf } from '#test/expected-logits';
import { architecturesWithStates as models, convertArchitecture } from '#test/tiny-architectures';
import type { GraphSession } from '../../runtime/graph-session.js';
import { openGraph } from '../../runtime/open-graph.js';
import type { LogitsBatch } from '../../sampling/logits-batch.js';
import { BatchScheduler } from '../../scheduler/batch-scheduler.js';
import type { CacheRow, Decoder } from '../../scheduler/decoder.js';
import { openDecoder } from '../../scheduler/open-decoder.js';
import { RecordingListener, sequenceRequest } from '../../scheduler/recording-listener.js';
import type { SequenceRequest } from '../../scheduler/sequence.js';

/*
 * Models with layers that keep a state instead of keys and values, in the batch: rows that join, leave and sit out,
 * prefixes, and the memory of the states. `architectures.spec.ts` compares their numbers with the reference.
 */

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'states-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const closable of opened.splice(0)) await closable.close();
});

const converted = new Map<string, Promise<string>>();

async function openSession(name: string, weights: 'float32' | 'int8-channel' = 'float32'): Promise<GraphSession> {
  const key = `${name}-${weights}`;
  const path = converted.get(key) ?? convertArchitecture(name, join(folder, key), { weights });
  converted.set(key, path);
  return openGraph({ modelPath: join(await path, 'model.onnx'), providers: ['cpu'], intraOpThreads: 1 });
}

async function openTiny(name: string, weights?: 'float32' | 'int8-channel'): Promise<Decoder> {
  const decoder = openDecoder(await openSession(name, weights), { slots: 4 });
  opened.push(decoder);
  return decoder;
}

/** Closes the session with it. */
function openScheduler(session: GraphSession): BatchScheduler {
  const decoder = openDecoder(session, { slots: 4 });
  const scheduler = new BatchScheduler({ decoder, slots: 4, contextLength: 128, cacheTokens: 512, chunkTokens: 8 });
  opened.push(scheduler);
  return scheduler;
}

const tokensOf = (count: number, seed: number): number[] =>
  Array.from({ length: count }, (_, index) => 1 + ((seed * 31 + index * 17 + ((index * index) % 7)) % 90));

async function read(decoder: Decoder, promptIds: readonly number[], size = 8): Promise<CacheRow> {
  const row = decoder.openRow();
  for (let from = 0; from < promptIds.length; from += size) {
    const tokenIds = Int32Array.from(promptIds.slice(from, from + size));
    await decoder.prefill([{ row, tokenIds, final: from + size >= promptIds.length }], 'none');
  }
  return row;
}

const nextToken = (row: CacheRow): number => 1 + ((row.length * 7) % 90);

async function decode(decoder: Decoder, rows: readonly CacheRow[], steps: number): Promise<LogitsBatch> {
  let batch: LogitsBatch | null = null;
  for (let step = 0; step < steps; step++) {
    const parts = rows.map((row) => ({ row, tokenId: nextToken(row) }));
    batch = await decoder.decode(parts, 'full');
  }
  return batch ?? expect.fail();
}

/** Logits of a row that is computed alone. */
async function alone(decoder: Decoder, promptIds: readonly number[], steps: number): Promise<Float32Array> {
  const row = await read(decoder, promptIds);
  const logits = logitsOf(await decode(decoder, [row], steps), 0);
  decoder.release(row);
  return logits;
}

const bytesOf = (logits: Float32Array): string => Buffer.from(logits.buffer).toString('hex');

async function run(
  scheduler: BatchScheduler,
  prompt: number[],
  members: Partial<SequenceRequest> = {},
): Promise<RecordingListener> {
  const listener = new RecordingListener();
  scheduler.submit(sequenceRequest({ id: prompt.join(), prompt, listener, maxNewTokens: 10, ...members }));
  return listener.done;
}

describe.each(models)('rows of a tiny %s', (name) => {
  it('have the same logits alone and in a batch that others join and leave, bit by bit', async () => {
    const decoder = await openTiny(name, 'int8-channel');
    const prompts = [tokensOf(30, 1), tokensOf(3, 2), tokensOf(21, 3), tokensOf(9, 4)];
    const [first, second] = [await read(decoder, prompts[0] ?? []), await read(decoder, prompts[1] ?? [])];
    await decode(decoder, [first, second], 3);
    const third = await read(decoder, prompts[2] ?? []);
    await decode(decoder, [first, second, third], 4);
    // The last row fills the gap.
    decoder.release(first);
    const fourth = await read(decoder, prompts[3] ?? []);
    const batch = await decode(decoder, [third, fourth, second], 5);
    const together = [2, 0, 1].map((index) => bytesOf(logitsOf(batch, index)));
    for (const row of [second, third, fourth]) decoder.release(row);
    const steps = [12, 9, 5];
    for (const [index, prompt] of prompts.slice(1).entries()) {
      expect(bytesOf(await alone(decoder, prompt, steps[index] ?? 0))).toBe(together[index]);
    }
  });

  it('keep their state while they sit out', async () => {
    const decoder = await openTiny(name);
    const prompts = [tokensOf(20, 5), tokensOf(6, 6)];
    const [idle, busy] = [await read(decoder, prompts[0] ?? []), await read(decoder, prompts[1] ?? [])];
    for (let step = 0; step < 4; step++) {
      await decoder.decode(
        [
          { row: idle, tokenId: 90, sitsOut: true },
          { row: busy, tokenId: nextToken(busy) },
        ],
        'none',
      );
    }
    const batch = await decode(decoder, [idle, busy], 2);
    const together = [logitsOf(batch, 0), logitsOf(batch, 1)];
    for (const row of [idle, busy]) decoder.release(row);
    expectLogits(together[0] ?? new Float32Array(), await alone(decoder, prompts[0] ?? [], 2));
    expectLogits(together[1] ?? new Float32Array(), await alone(decoder, prompts[1] ?? [], 6));
  });

  it('go on from several tokens at once, beside others', async () => {
    const decoder = await openTiny(name);
    const prompts = [tokensOf(12, 7), tokensOf(17, 8)];
    const rows = [await read(decoder, prompts[0] ?? []), await read(decoder, prompts[1] ?? [])] as const;
    await decode(decoder, rows, 1);
    const forced = tokensOf(5, 9);
    await decoder.extend(rows[0], Int32Array.from(forced));
    const batch = await decode(decoder, rows, 2);
    const together = [logitsOf(batch, 0), logitsOf(batch, 1)];
    for (const row of rows) decoder.release(row);
    const extended = [...(prompts[0] ?? []), 1 + ((12 * 7) % 90), ...forced];
    expectLogits(together[0] ?? new Float32Array(), await alone(decoder, extended, 2));
    expectLogits(together[1] ?? new Float32Array(), await alone(decoder, prompts[1] ?? [], 3));
  });

  it('give the logits of a step again, from the states before it', async () => {
    const decoder = await openTiny(name);
    const rows = [await read(decoder, tokensOf(12, 7)), await read(decoder, tokensOf(17, 8))];
    await decode(decoder, rows, 2);
    const step = await decoder.decode(
      rows.map((row) => ({ row, tokenId: nextToken(row) })),
      'full',
    );
    const given = [logitsOf(step, 0), logitsOf(step, 1)];
    const again = await decoder.repeatForLogits();
    for (const [index, logits] of given.entries()) expect(bytesOf(logitsOf(again, index))).toBe(bytesOf(logits));
    for (const row of rows) decoder.release(row);
  });
});

describe.each(models)('prompts of a tiny %s', (name) => {
  it('reuse a prefix where a state was kept: the whole row, and the end of a chunk', async () => {
    const scheduler = openScheduler(await openSession(name));
    const first = tokensOf(50, 3);
    const { tokens } = await run(scheduler, first);
    const wanted: [number[], number][] = [
      [[...first, ...tokens, ...tokensOf(12, 7)], first.length + tokens.length - 1],
      // The end of the prompt, as if the answer had been written in another way.
      [[...first, ...tokensOf(12, 8)], first.length],
      [[...first.slice(0, 45), ...tokensOf(20, 5)], 40],
      [[...first.slice(0, 15), ...tokensOf(20, 6)], 0],
    ];
    for (const [prompt, cachedTokens] of wanted) {
      const reused = await run(scheduler, prompt);
      expect(reused.failure).toBeNull();
      expect(reused.cachedTokens).toBe(cachedTokens);
      const fresh = await run(openScheduler(await openSession(name)), prompt);
      expect(fresh.cachedTokens).toBe(0);
      expect(reused.tokens).toEqual(fresh.tokens);
    }
  });

  it('give a seeded text again from a prefix in whole chunks', async () => {
    const scheduler = openScheduler(await openSession(name));
    const sampling = { temperature: 1, seed: 5 };
    const prompt = tokensOf(45, 9);
    const first = await run(scheduler, prompt, { sampling });
    const again = await run(scheduler, prompt, { sampling });
    expect(again.cachedTokens).toBe(40);
    expect(again.tokens).toEqual(first.tokens);
  });

  it('refuse to go on from a position without a state', async () => {
    const decoder = await openTiny(name);
    const kept = decoder.retain(await read(decoder, tokensOf(40, 3)));
    expect([39, 31, 7].map((wanted) => kept.copyableLength(wanted))).toEqual([32, 24, 0]);
    expect(() => decoder.copyPrefix({ from: kept, to: decoder.openRow(), length: 39 })).toThrow('no state');
    decoder.release(kept);
  });
});

/** Records every state that the graph returns. */
function recordStates(session: GraphSession): Float32Array[] {
  const states: Float32Array[] = [];
  const compute = session.run.bind(session);
  session.run = async (feeds, fetches) => {
    const outputs = await compute(feeds, fetches);
    for (const [output, { data }] of Object.entries(outputs)) {
      if (output.startsWith('new_states.')) states.push(data as Float32Array);
    }
    return outputs;
  };
  return states;
}

describe.each(models)('the memory of the states of a tiny %s', (name) => {
  it('is freed with the last row that goes on from them', async () => {
    const session = await openSession(name);
    const states = recordStates(session);
    const decoder = openDecoder(session, { slots: 4 });
    opened.push(decoder);
    const first = await read(decoder, tokensOf(40, 3));
    const second = await read(decoder, tokensOf(10, 4));
    await decode(decoder, [first, second], 5);
    const kept = decoder.retain(first);
    decoder.release(second);
    const row = decoder.openRow();
    decoder.copyPrefix({ from: kept, to: row, length: 32 });
    decoder.release(kept);
    expect(row.copyableLength(32)).toBe(32);
    const inMemory = () => states.filter(({ length }) => length > 0).length;
    expect(inMemory()).toBeGreaterThan(0);
    decoder.release(row);
    expect(inMemory()).toBe(0);
    // Each run returns a state of each of these layers.
    expect(states.length).toBeGreaterThan(10);
  });

  it('is freed when a request is cancelled before anything is worth keeping', async () => {
    const session = await openSession(name);
    const states = recordStates(session);
    const scheduler = openScheduler(session);
    const listener = new RecordingListener((_, count) => {
      if (count === 3) scheduler.cancel('gone');
      return 'continue';
    });
    scheduler.submit(sequenceRequest({ id: 'gone', prompt: tokensOf(8, 1), listener, maxNewTokens: 50 }));
    await listener.done;
    expect(listener.end).toBe('cancelled');
    expect(states.filter(({ length }) => length > 0)).toEqual([]);
    expect(states.length).toBeGreaterThan(0);
  });
});

describe('a model with layers that keep a state', () => {
  it('is converted only in the layout that has them', async () => {
    const outputFolder = join(folder, 'concat');
    await expect(convertArchitecture('lfm2', outputFolder, { layout: 'concat' })).rejects.toThrow(
      "The converter's option `layout` must be `split` for a model whose layers keep a state.",
    );
    expect(await readdir(outputFolder)).toEqual([]);
  });
});
