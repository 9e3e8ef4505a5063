import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { addAdapters } from '#model-store/adapter';
import { graphForDevice } from '#model-store/device';
import { expectLogits, logitsOf } from '#test/expected-logits';
import { softwareGpu, softwareGpuTimeouts } from '#test/software-gpu';
import { type AdapterText, convertAdapters } from '#test/tiny-adapters';
import { DeviceSession } from '../../runtime/c-api/device-session.js';
import { providersUnderTest } from '../../runtime/providers.conformance.js';
import type { CacheRow, Decoder } from '../decoder.js';
import { openDecoder } from '../open-decoder.js';

/* LoRA adapters with the cache in place, against PEFT (`tools/reference/tiny_adapters.py`). */

let folder: string;
beforeAll(async () => {
  vi.stubEnv('VK_DRIVER_FILES', softwareGpu.VK_DRIVER_FILES);
  folder = await mkdtemp(join(tmpdir(), 'sluice-device-adapters-'));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

/** A text of an adapter, by its number in the graph. */
interface Adapted {
  adapter: number;
  text: AdapterText;
}

async function openAdapted(base: string, provider: string): Promise<{ decoder: Decoder; all: Adapted[] }> {
  const graphFile = 'model.onnx';
  const { directory, adapters: wanted, known } = await convertAdapters(await mkdtemp(join(folder, 'a-')), base);
  const { model, adapters, refused } = await addAdapters({ directory, graphFile }, wanted);
  expect(refused).toEqual([]);
  const options = { takesHalfFloats: false, cacheInPlaceOn: provider };
  const changed = await graphForDevice({ folder: directory, graphFile, model }, options);
  expect(changed?.cacheInPlace).toBe(true);
  const graph = { modelPath: join(directory, graphFile), model: changed?.model, intraOpThreads: 1 };
  const session = await DeviceSession.open({ ...graph, isWhole: provider !== 'cpu' }, { provider, providerNote: null });
  // Adapters alternate, so that no neighbors are alike.
  const all = [0, 1].flatMap((which) =>
    Object.entries(known).map(([name, texts]) => ({
      adapter: adapters.get(name) ?? 0,
      text: texts[which] as AdapterText,
    })),
  );
  return { decoder: openDecoder(session, { slots: 8 }), all };
}

async function read(decoder: Decoder, { adapter, text }: Adapted): Promise<CacheRow> {
  const row = decoder.openRow(adapter);
  const parts = [{ row, tokenIds: Int32Array.from(text.promptIds), final: true }];
  expectLogits(logitsOf(await decoder.prefill(parts, 'full'), 0), text.first);
  return row;
}

const cases = [
  ...['llama', 'qwen2', 'phi3', 'glm4', 'command-r', 'gemma2', 'qwen3-moe'].map((base) => ['cpu', base] as const),
  ...providersUnderTest().flatMap((provider) => (provider === 'cpu' ? [] : [[provider, 'llama'] as const])),
];

describe.each(cases)('adapters on %s, of a tiny %s with its cache in place', softwareGpuTimeouts, (provider, base) => {
  it('compute the logits of the reference alone, and in one batch with their base and each other', async () => {
    const { decoder, all } = await openAdapted(base, provider);
    const running: (Adapted & { row: CacheRow; step: number })[] = [];
    const ended: Adapted[] = [];
    const step = async () => {
      const parts = running.map((each) => ({ row: each.row, tokenId: each.text.tokens[each.step] ?? 0 }));
      const batch = await decoder.decode(parts, 'full');
      for (const [index, each] of running.entries()) {
        each.step += 1;
        if (each.step === each.text.tokens.length) expectLogits(logitsOf(batch, index), each.text.last);
      }
      // A row leaves when its text ends.
      for (const each of running.filter(({ text, step: taken }) => taken === text.tokens.length)) {
        running.splice(running.indexOf(each), 1);
        decoder.release(each.row);
        ended.push({ adapter: each.adapter, text: each.text });
      }
    };
    // Each joins while those before it run.
    for (const each of all) {
      running.push({ ...each, row: await read(decoder, each), step: 0 });
      await step();
    }
    while (running.length > 0) await step();
    expect(ended).toEqual(expect.arrayContaining(all));
    expect(running).toEqual([]);
    await decoder.close();
  });

  it('share a prefix with rows of the same adapter only', async () => {
    const { decoder, all } = await openAdapted(base, provider);
    const longest = all.slice(all.length / 2);
    for (const each of longest) {
      const kept = decoder.retain(await read(decoder, each));
      const { promptIds } = each.text;
      const length = Math.floor(promptIds.length * 0.7);
      const row = decoder.openRow(each.adapter);
      decoder.copyPrefix({ from: kept, to: row, length });
      const parts = [{ row, tokenIds: Int32Array.from(promptIds.slice(length)), final: true }];
      expectLogits(logitsOf(await decoder.prefill(parts, 'full'), 0), each.text.first);
      expect(() => decoder.copyPrefix({ from: kept, to: decoder.openRow(each.adapter + 1), length })).toThrow(
        RangeError,
      );
      for (const done of [row, kept]) decoder.release(done);
    }
    await decoder.close();
  });
});
