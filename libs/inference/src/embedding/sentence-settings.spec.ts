import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readSentenceSettings } from './sentence-settings.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-settings-'));
  await mkdir(join(directory, '1_Pooling'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function write(kinds: string[], pooling: object | null): Promise<void> {
  const paths: Record<string, string> = {
    Transformer: '',
    Pooling: '1_Pooling',
    Normalize: '2_Normalize',
    Dense: '2_Dense',
  };
  const modules = kinds.map((kind) => ({ path: paths[kind], type: `sentence_transformers.models.${kind}` }));
  await writeFile(join(directory, 'modules.json'), JSON.stringify(modules));
  if (pooling !== null) await writeFile(join(directory, '1_Pooling/config.json'), JSON.stringify(pooling));
}

const read = (familyOptions: Record<string, string | boolean> = {}) =>
  readSentenceSettings({ directory, familyOptions });

describe('the settings of a sentence encoder', () => {
  it('default to length 1, and leave the pooling open, when no file sets them', async () => {
    expect(await read()).toEqual({ pooling: null, normalize: true, needsWholeGraph: false });
    expect(await read({ pooling: 'mean' })).toMatchObject({ pooling: 'mean' });
  });

  it.each([
    [{ pooling_mode_cls_token: true, pooling_mode_mean_tokens: false }, 'cls'],
    [{ pooling_mode_lasttoken: true }, 'last'],
    [{ pooling_mode_max_tokens: true }, 'max'],
    [{ pooling_mode: 'mean' }, 'mean'],
    [{ pooling_mode: ['cls'] }, 'cls'],
  ])('come from the files: %j is %s', async (config, pooling) => {
    await write(['Transformer', 'Pooling', 'Normalize'], { word_embedding_dimension: 8, ...config });
    expect(await read()).toMatchObject({ pooling, normalize: true });
    await write(['Transformer', 'Pooling'], config);
    expect(await read()).toMatchObject({ pooling, normalize: false });
  });

  it('prefer the manifest over the files', async () => {
    await write(['Transformer', 'Pooling', 'Normalize'], { pooling_mode_cls_token: true });
    expect(await read({ pooling: 'mean', normalize: false })).toMatchObject({ pooling: 'mean', normalize: false });
  });

  it('require the whole graph when layers follow the pooling', async () => {
    await write(['Transformer', 'Pooling', 'Dense', 'Normalize'], { pooling_mode_cls_token: true });
    expect(await read()).toMatchObject({ needsWholeGraph: true });
  });

  it.each([
    [{ pooling_mode_cls_token: true, pooling_mode_mean_tokens: true }, /asks for pooling_mode_cls_token and/],
    [{ pooling_mode_weightedmean_tokens: true }, /asks for pooling_mode_weightedmean_tokens/],
    [{}, /asks for no pooling/],
    [null, /is missing/],
  ])('are rejected when they are not supported: %j', async (config, problem) => {
    await write(['Transformer', 'Pooling'], config);
    await expect(read()).rejects.toThrow(problem);
  });

  it('are rejected when the manifest is invalid', async () => {
    await expect(read({ pooling: 'sum' })).rejects.toMatchObject({ code: 'INVALID_MANIFEST' });
    await expect(read({ normalize: 'yes' })).rejects.toMatchObject({ code: 'INVALID_MANIFEST' });
  });
});
