import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deterministicManifest, installDeterministicModel, removeDeterministicModel } from '#test/deterministic-model';
import { InstalledModels, isSelected } from './models-folder.js';

describe('InstalledModels', () => {
  let home: string;

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'sluice-models-'));
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  it('finds no model before the first pull', async () => {
    expect(await new InstalledModels(home).scan()).toEqual({ models: [], broken: [] });
  });

  it('finds models as they appear and disappear, and a new version as a new model', async () => {
    const installed = new InstalledModels(home);
    await installDeterministicModel(home, deterministicManifest('one'));
    const [first] = (await installed.scan()).models;
    expect(first?.manifest.id).toBe('one');
    expect((await installed.scan()).models[0]).toBe(first);
    await installDeterministicModel(home, deterministicManifest('one', { slots: 2 }));
    const [second] = (await installed.scan()).models;
    expect(second?.manifest.slots).toBe(2);
    expect(second?.version).not.toBe(first?.version);
    await removeDeterministicModel(home, 'one');
    expect((await installed.scan()).models).toEqual([]);
  });

  it('ignores unfinished pulls and reports broken folders', async () => {
    await mkdir(join(home, 'models', '.partial-two'), { recursive: true });
    await mkdir(join(home, 'models', 'three'), { recursive: true });
    await writeFile(join(home, 'models', 'three', 'manifest.json'), '{"id":"three"}');
    const { models, broken } = await new InstalledModels(home).scan();
    expect(models).toEqual([]);
    expect(broken).toEqual([{ id: 'three', reason: expect.stringContaining('manifest.json') }]);
  });
});

describe('isSelected', () => {
  const manifest = deterministicManifest('one', { sets: ['starter'] });

  it('matches ids, sets and "all", and nothing for "none"', () => {
    expect(isSelected(manifest, ['one'])).toBe(true);
    expect(isSelected(manifest, ['other', 'starter'])).toBe(true);
    expect(isSelected(manifest, ['all'])).toBe(true);
    expect(isSelected(manifest, ['none'])).toBe(false);
    expect(isSelected(manifest, [])).toBe(false);
  });
});
