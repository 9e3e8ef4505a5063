import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectLogits, logitDistance, logitsOf } from '#test/expected-logits';
import { type AdapterText as Known, convertAdapters } from '#test/tiny-adapters';
import type { CacheRow, Decoder } from '../../scheduler/decoder.js';
import { openDecoder } from '../../scheduler/open-decoder.js';
import { type AdaptedSession, openWithAdapters } from './adapters.js';

/*
 * LoRA adapters against PEFT: tiny bases and adapters with random weights, through the real converters and the real
 * runtime (`tools/reference/tiny_adapters.py`).
 */

const bases = ['llama', 'llama-gguf', 'qwen2', 'phi3', 'glm4', 'command-r', 'gemma2', 'gemma3-sees', 'qwen3-moe'];

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'adapters-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Adapted extends AdaptedSession {
  decoder: Decoder;
  /** Results of the reference by adapter, and of the base alone. */
  known: Record<string, Known[]>;
}

async function openAdapted(base: string, weights?: string): Promise<Adapted> {
  const { directory, adapters, known } = await convertAdapters(folder, base, weights);
  const options = { directory, graphFile: 'model.onnx', providers: ['cpu'], intraOpThreads: 1, adapters };
  const opened = await openWithAdapters(options);
  return { ...opened, known, decoder: openDecoder(opened.session, { slots: 8 }) };
}

async function expectContinuations(decoder: Decoder, rows: readonly CacheRow[], texts: readonly Known[]) {
  const steps = texts[0]?.tokens.length ?? 0;
  for (let step = 0; step < steps; step++) {
    const parts = rows.map((row, index) => ({ row, tokenId: texts[index]?.tokens[step] ?? 0 }));
    const batch = await decoder.decode(parts, 'full');
    if (step + 1 === steps) texts.forEach((text, index) => expectLogits(logitsOf(batch, index), text.last));
  }
}

async function expectAlone(decoder: Decoder, row: CacheRow, text: Known, pieces: readonly number[][]) {
  for (const [index, piece] of pieces.entries()) {
    const final = index + 1 === pieces.length;
    const parts = [{ row, tokenIds: Int32Array.from(piece), final }];
    const batch = await decoder.prefill(parts, final ? 'full' : 'none');
    if (final) expectLogits(logitsOf(batch, 0), text.first);
  }
  await expectContinuations(decoder, [row], [text]);
}

function cut(ids: readonly number[], size: number): number[][] {
  return Array.from({ length: Math.ceil(ids.length / size) }, (_, index) =>
    ids.slice(index * size, (index + 1) * size),
  );
}

describe.each(bases)('adapters of a tiny %s', (base) => {
  let adapted: Adapted;
  beforeAll(async () => void (adapted = await openAdapted(base)), 60_000);
  afterAll(() => adapted.decoder.close());
  const each = (): [number, Known[]][] => {
    return Object.entries(adapted.known).map(([name, texts]) => [adapted.adapters.get(name) ?? 0, texts]);
  };

  it('all fit', () => {
    expect(adapted.refused).toEqual([]);
    expect([...adapted.adapters.keys()]).toEqual(Object.keys(adapted.known).slice(1));
  });

  it('compute the logits of the reference alone, as their base does', async () => {
    for (const [adapter, [text]] of each()) {
      const row = adapted.decoder.openRow(adapter);
      await expectAlone(adapted.decoder, row, text as Known, [text?.promptIds ?? []]);
      adapted.decoder.release(row);
    }
  });

  it('compute them in one batch with their base and each other', async () => {
    const { decoder } = adapted;
    // Adapters alternate, so that no neighbors are alike.
    const all = [0, 1].flatMap((which) => each().map(([adapter, texts]) => ({ adapter, text: texts[which] as Known })));
    const rows = all.map(({ adapter }) => decoder.openRow(adapter));
    const parts = rows.map((row, index) => {
      return { row, tokenIds: Int32Array.from(all[index]?.text.promptIds ?? []), final: true };
    });
    const batch = await decoder.prefill(parts, 'full');
    all.forEach(({ text }, index) => expectLogits(logitsOf(batch, index), text.first));
    await expectContinuations(
      decoder,
      rows,
      all.map(({ text }) => text),
    );
    for (const row of rows) decoder.release(row);
  });

  it('compute them in chunks', async () => {
    for (const [adapter, [text]] of each()) {
      const row = adapted.decoder.openRow(adapter);
      await expectAlone(adapted.decoder, row, text as Known, cut(text?.promptIds ?? [], 4));
      adapted.decoder.release(row);
    }
  });

  it('compute them behind a reused prefix of their own', async () => {
    const { decoder } = adapted;
    for (const [adapter, [, text]] of each()) {
      if (!text) continue;
      const first = decoder.openRow(adapter);
      await decoder.prefill([{ row: first, tokenIds: Int32Array.from(text.promptIds), final: true }], 'none');
      const kept = decoder.retain(first);
      const length = Math.floor(text.promptIds.length * 0.7);
      const row = decoder.openRow(adapter);
      decoder.copyPrefix({ from: kept, to: row, length });
      await expectAlone(decoder, row, text, [text.promptIds.slice(length)]);
      expect(() => decoder.copyPrefix({ from: kept, to: decoder.openRow(adapter + 1), length })).toThrow(RangeError);
      for (const done of [row, kept]) decoder.release(done);
    }
  });
});

describe('adapters of quantised weights', () => {
  // `stored`: 4 bits with minima.
  it.each(['int8', 'int8-channel', 'int4', 'stored'])('compute the same in a batch as alone: %s', async (weights) => {
    const { decoder, adapters, known } = await openAdapted('llama-gguf', weights);
    const all = Object.entries(known).map(([name, [text]]) => ({
      adapter: adapters.get(name) ?? 0,
      text: text as Known,
    }));
    const parts = all.map(({ adapter, text }) => {
      return { row: decoder.openRow(adapter), tokenIds: Int32Array.from(text.promptIds), final: true };
    });
    const batch = await decoder.prefill(parts, 'full');
    const together = all.map((_, index) => logitsOf(batch, index));
    for (const { row } of parts) decoder.release(row);
    for (const [index, { adapter, text }] of all.entries()) {
      const row = decoder.openRow(adapter);
      const tokenIds = Int32Array.from(text.promptIds);
      const alone = logitsOf(await decoder.prefill([{ row, tokenIds, final: true }], 'full'), 0);
      decoder.release(row);
      expectLogits(together[index] ?? new Float32Array(), alone);
      // Nearer to its own reference than to those of the others: the product is added in this format too.
      const distances = all.map((other) => logitDistance(alone, other.text.first));
      expect(distances.indexOf(Math.min(...distances))).toBe(index);
    }
    await decoder.close();
  });
});
