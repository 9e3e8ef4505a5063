import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { graphForDevice } from '#model-store/device';
import { softwareGpu, softwareGpuTimeouts } from '#test/software-gpu';
import { convertArchitecture } from '#test/tiny-architectures';
import { DeviceSession } from '../../runtime/c-api/device-session.js';
import { providersUnderTest } from '../../runtime/providers.conformance.js';
import type { LogitsBatch } from '../../sampling/logits-batch.js';
import type { CacheRow, Decoder } from '../decoder.js';
import { openDecoder } from '../open-decoder.js';
import { openResident, openSplit, promptOf, slots, textsOf } from './resident.conformance.js';

/* Caches and states that no kernel writes in place, on the device: the texts of the processor, and what crosses the bus. */

let folder: string;
const homes = new Map<string, Promise<string>>();
beforeAll(async () => {
  vi.stubEnv('VK_DRIVER_FILES', softwareGpu.VK_DRIVER_FILES);
  folder = await mkdtemp(join(tmpdir(), 'sluice-resident-'));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

async function openOn(provider: string, name: string): Promise<DeviceSession> {
  const converted = homes.get(name) ?? convertArchitecture(name, join(folder, name), {});
  homes.set(name, converted);
  const home = await converted;
  const graphFile = 'model.onnx';
  const options = { takesHalfFloats: false, cacheInPlaceOn: provider === 'cpu' ? null : provider };
  const changed = await graphForDevice({ folder: home, graphFile }, options);
  const graph = { modelPath: join(home, graphFile), intraOpThreads: 1, ...(changed && { model: changed.model }) };
  return await DeviceSession.open(graph, { provider, providerNote: null });
}

/** All logits of rows of which one sits out, one is forced to take tokens, and one leaves. */
async function logitsOf(decoder: Decoder): Promise<number[][]> {
  const found: number[][] = [];
  const note = ({ logits, rowIndexes, vocabularySize }: LogitsBatch): void => {
    for (const row of rowIndexes) {
      found.push([...(logits ?? []).slice(row * vocabularySize, (row + 1) * vocabularySize)]);
    }
  };
  const rows: CacheRow[] = [];
  for (const length of [5, 30, 9]) {
    const row = decoder.openRow();
    note(await decoder.prefill([{ row, tokenIds: Int32Array.from(promptOf(length, length)), final: true }], 'full'));
    rows.push(row);
  }
  const step = async (sitsOut = -1): Promise<void> => {
    const parts = rows.map((row, index) => ({ row, tokenId: 30 + index, sitsOut: index === sitsOut }));
    const batch = await decoder.decode(parts, 'full');
    note({ ...batch, rowIndexes: batch.rowIndexes.filter((_, index) => index !== sitsOut) });
  };
  await step();
  await step(1);
  await decoder.extend(rows[1] as CacheRow, Int32Array.from(promptOf(40, 6)));
  await step();
  await decoder.decode(
    rows.map((row) => ({ row, tokenId: 31 })),
    'top',
  );
  note(await decoder.repeatForLogits());
  decoder.release(rows.shift() as CacheRow, true);
  await step();
  decoder.release(decoder.retain(rows.shift() as CacheRow));
  await step();
  await decoder.close();
  return found;
}

/** Bytes over the bus for a token behind a short prompt and for one behind a longer one. */
async function bytesPerToken(session: DeviceSession, decoder: Decoder) {
  const measure = async (length: number) => {
    const row = decoder.openRow();
    await decoder.prefill([{ row, tokenIds: Int32Array.from(promptOf(length, 1)), final: true }], 'top');
    await decoder.decode([{ row, tokenId: 27 }], 'top');
    const before = [session.bytesIn, session.bytesOut] as const;
    await decoder.decode([{ row, tokenId: 28 }], 'top');
    decoder.release(row);
    return { bytesIn: session.bytesIn - before[0], bytesOut: session.bytesOut - before[1] };
  };
  return { early: await measure(4), late: await measure(100) };
}

/** States of gated DeltaNet, of Mamba, shared keys beside windows, and latents. */
const architectures = ['qwen35', 'granite-h', 'gemma4', 'deepseek-v3'];

describe.each(providersUnderTest())(
  'a split graph with its caches and states on %s',
  softwareGpuTimeouts,
  (provider) => {
    it.each(provider === 'cpu' ? architectures : ['qwen35', 'granite-h'])(
      'writes the texts of the processor and copies the same prefixes: %s',
      async (name) => {
        const expected = await textsOf(openSplit(await openOn('cpu', name)));
        expect(expected.copied.some((count) => (count ?? 0) > 16)).toBe(true);
        expect(await textsOf(openResident(await openOn(provider, name)))).toEqual(expected);
      },
    );

    it.each(['qwen35', 'gemma4'])('returns its logits where rows sit out, are forced and leave: %s', async (name) => {
      const expected = await logitsOf(openSplit(await openOn('cpu', name)));
      const found = await logitsOf(openResident(await openOn(provider, name)));
      expect(found.length).toBe(expected.length);
      found.forEach((logits, index) => {
        logits.forEach((value, token) => expect(value).toBeCloseTo(expected[index]?.[token] ?? Number.NaN, 3));
      });
    });

    it.each(architectures)('moves the same few bytes for a token, however long the text is: %s', async (name) => {
      const session = await openOn(provider, name);
      const decoder = openResident(session);
      const { early, late } = await bytesPerToken(session, decoder);
      expect(late).toEqual(early);
      // Token, lengths and places of its positions; the 64 best with their ids, their sum and a wanted logit.
      expect(early.bytesIn).toBeLessThan(400);
      expect(early.bytesOut).toBeLessThanOrEqual(64 * (4 + 8) + 4 + 4);
      await decoder.close();
    });
  },
);

it.each(architectures)('moves all of it where caches and states are inputs and outputs: %s', async (name) => {
  const session = await openOn('cpu', name);
  const decoder = openSplit(session);
  const { early, late } = await bytesPerToken(session, decoder);
  expect(early.bytesIn).toBeGreaterThan(4_000);
  expect(late.bytesIn).toBeGreaterThan(early.bytesIn);
  await decoder.close();
});

it('is chosen where the device has a memory of its own', softwareGpuTimeouts, async () => {
  for (const provider of providersUnderTest()) {
    const decoder = openDecoder(await openOn(provider, 'qwen35'), { slots });
    expect(decoder.kind).toBe(provider === 'cpu' ? 'split' : 'device');
    await decoder.close();
  }
});
