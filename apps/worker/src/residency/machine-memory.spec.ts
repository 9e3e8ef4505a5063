import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MemoryBudgetSetting } from '#platform/config';
import type { NvidiaDevice } from '#platform/devices';
import { deterministicManifest } from '#test/deterministic-model';
import { FakeGraphicsMemory } from '#test/fake-machine-memory';
import { NvidiaGraphicsMemory } from './graphics-memory.js';
import { LocalMachineMemory } from './machine-memory.js';

const gib = 2 ** 30;

interface Scene {
  settings?: MemoryBudgetSetting[];
  providers?: string[];
  graphics?: FakeGraphicsMemory;
}

const machine = ({ settings = [], providers = ['cuda', 'cpu'], graphics = new FakeGraphicsMemory(null) }: Scene = {}) =>
  new LocalMachineMemory({ settings, providers, graphics, mainBytes: 10 * gib });

const withGraphics = () => new FakeGraphicsMemory(40 * gib);

describe('memory budgets', () => {
  it('are 90% of the machine and of a GPU that is in use', async () => {
    expect(await machine().budgets()).toEqual({ cpu: 9 * gib });
    expect(await machine({ graphics: withGraphics() }).budgets()).toEqual({ cpu: 9 * gib, cuda: 36 * gib });
    expect(await machine({ graphics: withGraphics(), providers: ['cpu'] }).budgets()).toEqual({ cpu: 9 * gib });
  });

  it('follow the operator settings: an amount, or a share of an existing device', async () => {
    const settings = [
      { device: 'cpu', bytes: gib },
      { device: 'cuda', share: 0.5 },
    ];
    expect(await machine({ settings }).budgets()).toEqual({ cpu: gib });
    expect(await machine({ settings, graphics: withGraphics() }).budgets()).toEqual({ cpu: gib, cuda: 20 * gib });
  });

  it('include a GPU as soon as its driver reports it, and keep it', async () => {
    const answers = [null, null, 40 * gib];
    const graphics = withGraphics();
    graphics.totalBytes = () => Promise.resolve(answers.shift() ?? null);
    const slow = machine({ graphics });
    expect(await slow.budgets()).toEqual({ cpu: 9 * gib });
    expect(await slow.budgets()).toEqual({ cpu: 9 * gib });
    expect(await slow.budgets()).toEqual({ cpu: 9 * gib, cuda: 36 * gib });
    expect(await slow.budgets()).toEqual({ cpu: 9 * gib, cuda: 36 * gib });
  });

  it('have an upper bound on the real machine', async () => {
    const { cpu = 0 } = await new LocalMachineMemory({
      settings: [],
      providers: ['cpu'],
      graphics: withGraphics(),
    }).budgets();
    expect(cpu).toBeGreaterThan(0);
    expect(cpu).toBeLessThan(2 ** 50);
  });
});

describe('the memory of a model', () => {
  let directory: string;
  const model = () => ({ manifest: deterministicManifest('one'), directory, version: '1' });

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sluice-weights-'));
    await writeFile(join(directory, 'model.onnx'), '');
    await truncate(join(directory, 'model.onnx'), 3 * gib);
  });
  afterAll(() => rm(directory, { recursive: true }));

  it('is estimated as its files plus a host until it was loaded', async () => {
    const { cpu = 0 } = await machine().estimate(model());
    expect(cpu).toBeGreaterThan(3 * gib);
    expect(cpu).toBeLessThan(3.2 * gib);
    const onGraphics = await machine({ graphics: withGraphics() }).estimate(model());
    expect(onGraphics.cuda).toBe(3 * gib);
    expect(onGraphics.cpu).toBeLessThan(0.2 * gib);
  });

  it('is measured on its host and its device once they report it', async () => {
    const graphics = withGraphics();
    graphics.used.set(7, 5 * gib);
    const measure = (provider: string, residentBytes: number, pid = 7) =>
      machine({ graphics }).measure({ pid, provider, residentBytes });
    expect(await measure('cpu', 0)).toBeNull();
    expect(await measure('cpu', gib)).toEqual({ cpu: gib });
    expect(await measure('cuda', gib)).toEqual({ cpu: gib, cuda: 5 * gib });
    expect(await measure('cuda', gib, 8)).toBeNull();
  });
});

describe('GPU memory', () => {
  const device = { name: 'GPU', uuid: '', totalBytes: 80 * gib, usedBytes: null, usedByPid: new Map([[7, gib]]) };
  const slices = [
    { index: 0, totalBytes: 20 * gib },
    { index: 1, totalBytes: 10 * gib },
  ];
  const graphicsOf = (...devices: NvidiaDevice[]) =>
    new NvidiaGraphicsMemory(() => Promise.resolve({ driverVersion: '570', cudaVersion: '12.8', devices }));

  it('is that of the first device, or of its first slice if it is partitioned', async () => {
    expect(await graphicsOf({ ...device, slices: [] }, { ...device, totalBytes: 1, slices: [] }).totalBytes()).toBe(
      80 * gib,
    );
    expect(await graphicsOf({ ...device, totalBytes: null, slices }).totalBytes()).toBe(20 * gib);
    expect(await graphicsOf({ ...device, totalBytes: null, slices: [] }).totalBytes()).toBeNull();
    expect(await graphicsOf().totalBytes()).toBeNull();
    expect(await new NvidiaGraphicsMemory(() => Promise.resolve(null)).totalBytes()).toBeNull();
  });

  it('is reported per process where the driver supports it', async () => {
    expect(await graphicsOf({ ...device, slices }).usedBy(7)).toBe(gib);
    expect(await graphicsOf({ ...device, slices }).usedBy(8)).toBeNull();
  });
});
