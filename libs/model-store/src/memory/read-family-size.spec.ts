import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bytesOf, GraphBuilder, writeOnnxModel } from '../onnx/index.js';
import { readFamilySize } from './read-family-size.js';

let root: string;
beforeAll(async () => void (root = await mkdtemp(join(tmpdir(), 'family-size-'))));
afterAll(() => rm(root, { recursive: true }));

/** Two tables of 2 MiB: of one, rows are gathered; the other is multiplied. */
async function writeEncoder(folder: string): Promise<number> {
  const builder = new GraphBuilder('encoder');
  builder.input('ids', 'int64', ['tokens']);
  const values = () => bytesOf(new Float32Array(2 ** 19));
  const table = builder.weight('table', 'float32', [1_024, 512], values);
  const matrix = builder.weight('matrix', 'float32', [512, 1_024], values);
  builder.node('MatMul', [builder.node('Gather', [table, 'ids']), matrix], {}, 'y');
  builder.output('y', 'float32', ['tokens', 1_024]);
  await writeOnnxModel(builder.build(), { folder, fileName: 'model.onnx', embedLimitBytes: 0 });
  return (await stat(join(folder, 'model.onnx'))).size;
}

it('leaves out tables that are mapped, and knows the tokenizer and the configuration', async () => {
  const folder = join(root, 'encoder');
  await mkdir(folder);
  const graphBytes = await writeEncoder(folder);
  await writeFile(join(folder, 'tokenizer.json'), Buffer.alloc(1_000));
  await writeFile(join(folder, 'config.json'), '{"d_model":8}');
  const size = await readFamilySize(folder, { family: 'text-embedding', graphFile: 'model.onnx' }, 256);
  expect(size).toMatchObject({
    family: 'text-embedding',
    tokenizerBytes: 1_000,
    config: { d_model: 8 },
    maxTokens: 256,
  });
  expect(size.weightsBytes).toBe(graphBytes + 2 ** 21 + '{"d_model":8}'.length);
});

it('counts the matrices of a decoder with two branches three times', async () => {
  const folder = join(root, 'speech');
  await mkdir(folder);
  await writeFile(join(folder, 'encoder.onnx'), Buffer.alloc(100));
  await writeFile(join(folder, 'decoder.onnx'), Buffer.alloc(1_000));
  await writeFile(join(folder, 'config.json'), 'no configuration');
  const fields = { family: 'whisper', graphFile: 'encoder.onnx', familyOptions: { decoderFile: 'decoder.onnx' } };
  const { weightsBytes, config } = await readFamilySize(folder, fields, 0);
  expect(weightsBytes).toBe(100 + 3_000 + 'no configuration'.length);
  expect(config).toEqual({});
});
