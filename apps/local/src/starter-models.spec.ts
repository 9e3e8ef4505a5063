import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { exampleManifest } from '#test/example-manifest';
import { installTinyModel } from '#test/tiny-models';
import { stillComing } from './starter-models.js';

let home: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-starter-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

it('lists no model that was installed since the start', async () => {
  const wanted = [exampleManifest({ id: 'tiny-here' }), exampleManifest({ id: 'tiny-there' })];
  const coming = async () => (await stillComing(home, wanted)).map(({ id }) => id);
  expect(await coming()).toEqual(['tiny-here', 'tiny-there']);
  await installTinyModel(home, { id: 'tiny-here' });
  expect(await coming()).toEqual(['tiny-there']);
});
