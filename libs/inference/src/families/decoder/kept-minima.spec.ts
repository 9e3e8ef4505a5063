import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { convertModel } from '#model-store';
import { logitDistance, logitsOf } from '#test/expected-logits';
import { minimaGguf } from '#test/tiny-models/quantized-gguf';
import { openDecoder } from '../../scheduler/open-decoder.js';
import { openGraph } from '../../runtime/open-graph.js';

/* Layers in 4 bits with a minimum per block (Q4_1) compute with the blocks of the file, experts too. */

const fixtures = new URL('./__fixtures__/architectures/', import.meta.url);
const prompts = [[5], [5, 17, 40, 3, 22, 9, 31], [12, 8, 30]].map((ids) => Int32Array.from(ids));

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'kept-minima-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Logits of the prompts alone and in one batch. */
async function logits(name: string, weights: 'stored' | 'float32' | 'int4') {
  const [inputFolder, outputFolder] = [await mkdtemp(join(folder, 'in-')), await mkdtemp(join(folder, 'out-'))];
  await writeFile(join(inputFolder, 'tiny.gguf'), minimaGguf(await readFile(new URL(`${name}.gguf`, fixtures))));
  await convertModel({ kind: 'gguf', inputFolder, outputFolder, options: { weights } });
  const modelPath = join(outputFolder, 'model.onnx');
  const decoder = openDecoder(await openGraph({ modelPath, providers: ['cpu'], intraOpThreads: 1 }), {
    slots: 4,
  });
  const read = (texts: readonly Int32Array[]) =>
    decoder.prefill(
      texts.map((tokenIds) => ({ row: decoder.openRow(), tokenIds, final: true })),
      'full',
    );
  const batch = await read(prompts);
  const together = prompts.map((_, index) => logitsOf(batch, index));
  const alone: Float32Array[] = [];
  for (const prompt of prompts) alone.push(logitsOf(await read([prompt]), 0));
  await decoder.close();
  return { alone, together };
}

function farthest(found: readonly Float32Array[], expected: readonly Float32Array[]): number {
  return Math.max(...expected.map((row, index) => logitDistance(found[index] ?? new Float32Array(), row)));
}

describe.each(['llama', 'mixtral', 'qwen3-moe', 'phi3'])('a tiny %s in 4 bits with minima', (name) => {
  it('computes with the values of the file', async () => {
    const [kept, exact, rounded] = [
      await logits(name, 'stored'),
      await logits(name, 'float32'),
      await logits(name, 'int4'),
    ];
    expect(farthest(kept.alone, exact.alone)).toBeLessThan(farthest(rounded.alone, exact.alone) / 4);
    expect(farthest(kept.together, kept.alone)).toBeLessThan(1e-5);
  });
});
