import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { isFull } from '#test/extent';
import { softwareGpu, softwareGpuTimeouts } from '#test/software-gpu';
import { buildTinyModel, type TinyLayout } from '#test/tiny-models';
import { BindingSession } from '../runtime/binding-session.js';
import { DeviceSession } from '../runtime/c-api/device-session.js';
import type { GraphSession } from '../runtime/graph-session.js';
import { providersUnderTest } from '../runtime/providers.conformance.js';
import { BatchScheduler } from './batch-scheduler.js';
import { openDecoder } from './open-decoder.js';
import { RecordingListener, sequenceRequest } from './recording-listener.js';

/* Decoders whose cache stays where the graph runs: same texts as on the host, and nothing of the cache on the bus. */

let folder: string;
beforeAll(async () => {
  vi.stubEnv('VK_DRIVER_FILES', softwareGpu.VK_DRIVER_FILES);
  folder = await mkdtemp(join(tmpdir(), 'sluice-kept-'));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

async function graphOf(layout: TinyLayout) {
  const home = join(folder, layout);
  const { graphFile } = await buildTinyModel(home, { layout });
  return { modelPath: join(home, graphFile), intraOpThreads: 1 };
}

const promptOf = (length: number, first: number): number[] =>
  Array.from({ length }, (_, index) => 260 + ((first * 31 + index * 17) % 170));

/** The second prompt begins with 64 tokens of the first one; the third one is alone. */
const prompts = [promptOf(70, 1), [...promptOf(66, 1), 300, 301], promptOf(9, 2)];

/** Greedy texts: the first prompt alone, then the others together. */
async function textsOf(session: GraphSession): Promise<number[][]> {
  const decoder = openDecoder(session, { slots: 4 });
  const scheduler = new BatchScheduler({ decoder, slots: 4, contextLength: 256, cacheTokens: 2048 });
  const ask = async (prompt: number[], index: number): Promise<number[]> => {
    const listener = new RecordingListener(() => undefined);
    scheduler.submit(sequenceRequest({ id: `s${index}`, prompt, listener, maxNewTokens: 6 }));
    await listener.done;
    expect(listener.failure).toBeNull();
    return listener.tokens;
  };
  const [first = [], ...others] = prompts;
  const texts = [await ask(first, 0), ...(await Promise.all(others.map((prompt, index) => ask(prompt, index + 1))))];
  await decoder.close();
  return texts;
}

const providers = providersUnderTest();

describe.each(providers)('a decoder on %s that keeps its cache', softwareGpuTimeouts, (provider) => {
  // A software device takes half a minute for a layout.
  const layouts = provider === 'cpu' || isFull ? (['concat', 'group-query'] as const) : (['group-query'] as const);
  it.each(layouts)('writes the same texts with the layout %s', async (layout) => {
    const graph = await graphOf(layout);
    const onHost = await BindingSession.open(graph, { provider: 'cpu', providerNote: null });
    const expected = await textsOf(onHost);
    const kept = await DeviceSession.open(graph, { provider, providerNote: null });
    expect(await textsOf(kept)).toEqual(expected);
  });

  it('moves no more bytes for a token when the text is longer', async () => {
    const session = await DeviceSession.open(await graphOf('concat'), { provider, providerNote: null });
    const decoder = openDecoder(session, { slots: 1 });
    const row = decoder.openRow();
    const step = async (): Promise<[number, number]> => {
      const [bytesIn, bytesOut] = [session.bytesIn, session.bytesOut];
      await decoder.decode([{ row, tokenId: 270 }], 'full');
      return [session.bytesIn - bytesIn, session.bytesOut - bytesOut];
    };
    await decoder.prefill([{ row, tokenIds: Int32Array.from(promptOf(4, 1)), final: true }], 'full');
    const [firstIn, firstOut] = await step();
    for (let token = 0; token < 40; token += 1) await decoder.decode([{ row, tokenId: 271 }], 'none');
    const [lastIn, lastOut] = await step();
    expect(lastOut).toBe(firstOut);
    // The mask has a number of 8 bytes for each position.
    expect(lastIn - firstIn).toBe(41 * 8);
    decoder.release(row);
    await decoder.close();
  });
});
