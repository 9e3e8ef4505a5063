import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { buildTinyModel, type TinyModelOptions } from '#test/tiny-models';
import { describeFamily } from '../../../../../test/conformance/families/describe-family.js';
import { FamilyRun } from '../../../../../test/conformance/families/family-run.js';
import { loadDecoderFamily } from './decoder.family.js';

/**
 * Text of each tiny architecture, recorded from the float32 split graph. Every other float32 layout must produce the
 * same text.
 */
const golden = JSON.parse(readFileSync(new URL('./__fixtures__/golden.json', import.meta.url), 'utf8')) as Record<
  string,
  string
>;

const cases: Required<Pick<TinyModelOptions, 'shape' | 'layout' | 'dtype'>>[] = [
  { shape: 'llama', layout: 'split', dtype: 'float32' },
  { shape: 'qwen', layout: 'split', dtype: 'float32' },
  { shape: 'phi', layout: 'split', dtype: 'float32' },
  { shape: 'llama', layout: 'split', dtype: 'int4' },
  { shape: 'llama', layout: 'split', dtype: 'int8' },
  { shape: 'llama', layout: 'concat', dtype: 'float32' },
  { shape: 'qwen', layout: 'group-query', dtype: 'float32' },
  { shape: 'phi', layout: 'concat', dtype: 'float16' },
];

for (const { shape, layout, dtype } of cases) {
  describeFamily({
    name: `decoder: ${shape}, ${layout}, ${dtype}`,
    load: loadDecoderFamily,
    build: (folder) => buildTinyModel(folder, { shape, layout, dtype }),
    golden: dtype === 'float32' ? (golden[shape] ?? '') : null,
  });
}

it('a decoder whose cache is smaller than its context generates what fits into the cache', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-small-cache-'));
  const { id, graphFile, family, contextLength = 0 } = await buildTinyModel(folder);
  const cacheTokens = 40;
  const run = await FamilyRun.load(loadDecoderFamily, {
    modelId: id,
    directory: folder,
    graphFile,
    family,
    familyOptions: {},
    providers: ['cpu'],
    intraOpThreads: 1,
    slots: 2,
    contextLength,
    cacheTokens,
  });
  for (const maxTokens of [undefined, contextLength]) {
    const { usage, finishReasons } = await run.ask('Hello', { maxTokens });
    const total = usage.promptTokens + usage.completionTokens;
    if (finishReasons[0] === 'length') expect(total).toBe(cacheTokens + 1);
    else expect(total).toBeLessThanOrEqual(cacheTokens + 1);
  }
  await run.engine.close();
  await rm(folder, { recursive: true, force: true });
});
