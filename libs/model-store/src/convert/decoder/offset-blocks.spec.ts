import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomBlocks } from '#test/tiny-models/quantized-gguf';
import { GraphBuilder, writeOnnxModel } from '../../onnx/index.js';
import { ggufTypes } from '../gguf/gguf-types.js';
import { readOffsetRows } from '../gguf/minimum-blocks.js';
import { emitLinear } from './linear-layer.js';
import type { WeightSource } from './weight-source.js';

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'offset-blocks-'))));
afterAll(() => rm(folder, { recursive: true }));

/** Layers of one row of blocks, whose scales are in the graph, or of many, whose scales are beside it. */
function graphOf(outputs: number) {
  const [, type] = [...ggufTypes].find(([, { name }]) => name === 'Q4_K') ?? [];
  if (!type) throw new Error('Q4_K is not in the table.');
  const rowBytes = (512 / type.values) * type.bytes;
  const blockRows = (name: string, from: number, to: number) => {
    const bytes = Uint8Array.from(randomBlocks(name, type, 512 * outputs));
    return Promise.resolve(readOffsetRows(type, bytes.subarray(from * rowBytes, to * rowBytes), 512));
  };
  const weights: WeightSource = { rows: blockRows, blockRows, vector: (name) => blockRows(name, 0, 1) };
  const builder = new GraphBuilder('layers');
  const input = builder.input('x', 'float32', ['batch', 'sequence', 512]);
  for (const name of ['first', 'second', 'third']) {
    const format = { kind: 'blocks', bits: 4, blockSize: 32, hasOffset: true } as const;
    emitLinear(builder, weights, format, input, { name, inputs: 512, outputs });
  }
  return builder.build();
}

describe('layers of blocks with offsets', () => {
  it.each([8, 64])('are the same after an interrupted conversion, of %i outputs', async (outputs) => {
    const [resumed, whole] = [await mkdtemp(join(folder, 'resumed-')), await mkdtemp(join(folder, 'whole-'))];
    const options = { embedLimitBytes: 0, checkpointBytes: 1, resumeKey: 'layers' };
    const stop = new AbortController();
    const onProgress = ({ done, total }: { done: number; total: number }) => {
      if (done > 0.7 * total) stop.abort(new Error('enough'));
    };
    const aborted = writeOnnxModel(graphOf(outputs), { ...options, folder: resumed, onProgress, signal: stop.signal });
    await expect(aborted).rejects.toThrow('enough');
    await writeOnnxModel(graphOf(outputs), { ...options, folder: resumed });
    await writeOnnxModel(graphOf(outputs), { folder: whole, embedLimitBytes: 0 });
    for (const name of ['model.onnx', 'model.onnx_data']) {
      expect((await readFile(join(resumed, name))).equals(await readFile(join(whole, name)))).toBe(true);
    }
  });
});
