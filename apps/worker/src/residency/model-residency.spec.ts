import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '#platform/logging';
import { deterministicManifest } from '#test/deterministic-model';
import { FakeMachineMemory } from '#test/fake-machine-memory';
import type { InstalledModel } from '../models-folder.js';
import { ModelResidency } from './model-residency.js';
import { weightsBytes } from './machine-memory.js';

let home: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-sizes-'));
});
afterEach(() => rm(home, { recursive: true }));

const modelOf = (id: string): InstalledModel => ({
  manifest: deterministicManifest(id),
  directory: join(home, id),
  version: '1',
});

async function writeWeights({ directory }: InstalledModel): Promise<void> {
  await mkdir(directory);
  await writeFile(join(directory, 'model.onnx'), 'weights');
}

/** A machine that reads the model files. */
class ReadingMachine extends FakeMachineMemory {
  override async estimate(model: InstalledModel) {
    return { cpu: await weightsBytes(model) };
  }
}

it('uses a device that appears late from then on', async () => {
  const machine = new FakeMachineMemory(100);
  machine.sizes.set('one', 80);
  const lines: string[] = [];
  const logger = createLogger('worker', { level: 'silent' });
  logger.info = (...words: unknown[]) => void lines.push(String(words.at(-1)));
  const residency = new ModelResidency({ machine, residencyMs: 1, logger });
  const wanted = [{ model: modelOf('one'), pinned: false }];
  const decide = () => residency.decide(wanted, []);
  expect((await decide()).load).toHaveLength(1);
  machine.cpuBytes = 50;
  expect((await decide()).load).toEqual([]);
  await decide();
  expect(residency.budget).toEqual({ cpu: 50 });
  expect(lines).toHaveLength(2);
});

describe('a model whose folder cannot be read', () => {
  it('is checked again', async () => {
    const model = modelOf('one');
    await expect(weightsBytes(model)).rejects.toThrow('ENOENT');
    await writeWeights(model);
    expect(await weightsBytes(model)).toBe('weights'.length);
    await rm(model.directory, { recursive: true });
    expect(await weightsBytes(model)).toBe('weights'.length);
  });

  it('is not loaded, blocks no other model, is reported once, and loads when it becomes readable', async () => {
    const lines: string[] = [];
    const logger = createLogger('worker', { level: 'silent' });
    logger.warn = (line: unknown) => void lines.push(String(line));
    const residency = new ModelResidency({ machine: new ReadingMachine(100), residencyMs: 1, logger });
    const [broken, whole] = [modelOf('broken'), modelOf('whole')];
    await writeWeights(whole);
    const decide = () =>
      residency.decide(
        [broken, whole].map((model) => ({ model, pinned: false })),
        [],
      );
    expect(await decide()).toEqual({ load: [whole], evict: [] });
    expect(await decide()).toEqual({ load: [whole], evict: [] });
    expect(residency.withoutReplica).toMatchObject([{ modelId: 'broken', cause: 'not-installed' }]);
    expect(await residency.obstacle(broken)).toMatchObject({ modelId: 'broken', cause: 'not-installed' });
    expect(lines).toEqual([expect.stringContaining('broken is not loaded')]);
    await writeWeights(broken);
    expect(await decide()).toEqual({ load: [broken, whole], evict: [] });
    expect(residency.withoutReplica).toEqual([]);
    expect(await residency.obstacle(broken)).toBeNull();
  });
});
