import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { itInFull } from '#test/extent';
import { convertInChild } from './convert-in-child.js';
import { type SparseShape, writeSparseGguf, writeSparseSafetensors } from './sparse-models.js';

const small: SparseShape = {
  layers: 1,
  hiddenSize: 1024,
  heads: 8,
  keyValueHeads: 2,
  feedForwardSize: 65_536,
  vocabularySize: 512,
};

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'conversions-'))));
afterEach(() => rm(folder, { recursive: true, force: true }));

async function folders() {
  const [inputFolder, outputFolder] = [await mkdtemp(join(folder, 'in-')), await mkdtemp(join(folder, 'out-'))];
  return { inputFolder, outputFolder };
}

async function digest(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex');
}

describe('a conversion', () => {
  it('takes less memory than one matrix of the model', { timeout: 600_000 }, async () => {
    const paths = await folders();
    const shape = { ...small, hiddenSize: 4096, heads: 32, feedForwardSize: 64, vocabularySize: 65_536 };
    await writeSparseSafetensors(paths.inputFolder, shape, 'BF16');
    const options = { weights: 'int4', headWeights: 'float32', contextLength: 256 };
    const { peakBytes } = await convertInChild({ kind: 'safetensors', options, ...paths });
    const outputLayerBytes = shape.vocabularySize * shape.hiddenSize * 4;
    expect(peakBytes).toBeGreaterThan(50e6);
    expect(peakBytes).toBeLessThan(outputLayerBytes);
  });

  itInFull(
    'continues where it was killed, with the same files',
    async () => {
      const [killed, whole] = [await folders(), await folders()];
      await writeSparseGguf(killed.inputFolder, small);
      const order = { kind: 'gguf', options: { weights: 'float32' }, inputFolder: killed.inputFolder } as const;
      const journal = join(killed.outputFolder, 'model.onnx_data.resume');
      const resumed = { ...order, outputFolder: killed.outputFolder, resumeKey: 'one' };
      expect(await convertInChild(resumed, () => existsSync(journal))).toMatchObject({ peakBytes: null });
      const { begunAt } = await convertInChild(resumed);
      expect(begunAt).toBeGreaterThan(256e6);
      await convertInChild({ ...order, outputFolder: whole.outputFolder });
      const names = (await readdir(whole.outputFolder)).toSorted();
      expect((await readdir(killed.outputFolder)).toSorted()).toEqual(names);
      for (const name of names) {
        expect(await digest(join(killed.outputFolder, name))).toBe(await digest(join(whole.outputFolder, name)));
      }
    },
    600_000,
  );
});
