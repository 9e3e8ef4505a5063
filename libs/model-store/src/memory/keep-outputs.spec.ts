import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildTinyModel } from '#test/tiny-models';
import { memoryAccess, readOnnxModel } from '../onnx/index.js';
import { keepOutputs } from './keep-outputs.js';

let folder: string;
let graphFile: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keep-outputs-'));
  ({ graphFile } = await buildTinyModel(folder));
});
afterAll(() => rm(folder, { recursive: true }));

it('leaves out other outputs, and nothing else', async () => {
  const before = await readOnnxModel(memoryAccess(await readFile(join(folder, graphFile))), { allowsExternal: true });
  const reduced = await keepOutputs({ folder, graphFile }, ['lse', 'new_kv']);
  const after = await readOnnxModel(memoryAccess(reduced as Uint8Array), { allowsExternal: true });
  expect(after.outputs.map(({ name }) => name).toSorted()).toEqual(['lse', 'new_kv']);
  expect(before.outputs.length).toBeGreaterThan(2);
  const namesOf = ({ initializers }: typeof before) => initializers.map(({ name, dimensions }) => [name, dimensions]);
  expect(namesOf(after)).toEqual(namesOf(before));
  expect({ ...after, initializers: [], outputs: [] }).toEqual({ ...before, initializers: [], outputs: [] });
});

it('leaves a graph alone of which every output is fetched', async () => {
  const all = ['logits', 'new_kv', 'topk_values', 'topk_ids', 'lse', 'wanted_logits'];
  expect(await keepOutputs({ folder, graphFile }, all)).toBeNull();
});

it('refuses a file that is no graph', async () => {
  await writeFile(join(folder, 'text.onnx'), 'no graph');
  await expect(keepOutputs({ folder, graphFile: 'text.onnx' }, [])).rejects.toThrow(RangeError);
});
