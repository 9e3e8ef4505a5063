import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildTinyModel } from '#test/tiny-models';
import { architecturesWithStates, convertArchitecture } from '#test/tiny-architectures';
import { memoryAccess, readOnnxModel } from '../onnx/index.js';
import { withLogitPlaces } from './logit-places.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-logit-places-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function dimensionsOf(bytes: Uint8Array): Promise<Map<string, (string | number)[]>> {
  const { inputs, outputs } = await readOnnxModel(memoryAccess(bytes), { allowsExternal: true });
  return new Map([...inputs, ...outputs].map(({ name, dimensions }) => [name, dimensions]));
}

describe('the split graph with logits at any places', () => {
  it('names the places in place of the last token of each row', async () => {
    const { graphFile } = await buildTinyModel(join(folder, 'split'));
    const file = { folder: join(folder, 'split'), graphFile };
    const before = await dimensionsOf(await readFile(join(file.folder, graphFile)));
    const after = await dimensionsOf((await withLogitPlaces(file)) ?? new Uint8Array());
    expect(after.has('last_index')).toBe(false);
    expect(after.get('logit_places')).toEqual(['places', 2]);
    expect(after.get('wanted_ids')).toEqual(['places', 'wanted']);
    for (const name of ['logits', 'topk_values', 'topk_ids', 'lse', 'wanted_logits']) {
      expect(after.get(name)).toEqual(['places', ...(before.get(name)?.slice(1) ?? [])]);
    }
    for (const name of ['input_ids', 'past_lens', 'new_kv']) expect(after.get(name)).toEqual(before.get(name));
  });

  it('is null for graphs with another cache', async () => {
    for (const layout of ['concat', 'group-query'] as const) {
      const { graphFile } = await buildTinyModel(join(folder, layout), { layout });
      expect(await withLogitPlaces({ folder: join(folder, layout), graphFile })).toBeNull();
    }
  });

  it.each(architecturesWithStates)('is null for a graph with states: %s', async (name) => {
    const path = await convertArchitecture(name, join(folder, name), {});
    expect(await withLogitPlaces({ folder: path, graphFile: 'model.onnx' })).toBeNull();
  });
});
