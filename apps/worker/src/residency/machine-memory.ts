import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { MemoryBudgetSetting } from '#platform/config';
import { mainMemoryBytes } from '#platform/devices';
import { runtimeBytes } from '#model-memory';
import type { InstalledModel } from '../models-folder.js';
import { hostMemory } from './host-memory.js';
import type { GraphicsMemory } from './graphics-memory.js';
import type { DeviceBytes } from './residency-plan.js';

const known = new WeakMap<InstalledModel, Promise<number>>();

/**
 * Size of the folders of a model and its adapters in bytes. Cached, because an installed model never changes. Rejects if the folder cannot be
 * read, and reads it again next time.
 */
export function weightsBytes(model: InstalledModel): Promise<number> {
  const before = known.get(model);
  if (before !== undefined) return before;
  const folders = [model, ...(model.adapters ?? [])].map(({ directory }) => sizeOf(directory));
  const bytes = Promise.all(folders).then((sizes) => sizes.reduce((sum, size) => sum + size, 0));
  known.set(model, bytes);
  bytes.catch(() => known.delete(model));
  return bytes;
}

async function sizeOf(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const sizes = entries
    .filter((entry) => !entry.isDirectory())
    // Weights may be symbolic links into a shared store; a broken one is reported by the loader.
    .map((entry) =>
      stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** A loaded model with the data that its size depends on. */
export interface LoadedHost {
  pid: number | null;
  provider: string;
  residentBytes: number;
}

/**
 * Memory that models use on this machine, and their budgets. Tests use a fake (`test/harness/fake-machine-memory.ts`).
 */
export interface MachineMemory {
  /** Memory budgets of models in bytes, by device. Read at every decision, since a device may appear late. */
  budgets(): Promise<DeviceBytes>;
  /** Estimated memory of a model that was never loaded here. */
  estimate(model: InstalledModel): Promise<DeviceBytes>;
  /** Memory of a loaded model; null while unknown. */
  measure(host: LoadedHost): Promise<DeviceBytes | null>;
}

/** The rest is left for the worker, ffmpeg and temporary buffers. */
const defaultShare = 0.9;

/** Memory of this machine: main memory or its cgroup limit, and the first GPU or MIG slice if any. */
export class LocalMachineMemory implements MachineMemory {
  private totals: Promise<Record<string, number>> | null = null;

  constructor(
    private readonly options: {
      settings: readonly MemoryBudgetSetting[];
      /** Execution providers in order of preference. */
      providers: readonly string[];
      graphics: GraphicsMemory;
      /** Main memory in bytes; default: the cgroup limit, or the physical memory. */
      mainBytes?: number;
    },
  ) {}

  async budgets(): Promise<DeviceBytes> {
    const { settings } = this.options;
    const budgets: Record<string, number> = {};
    for (const [device, bytes] of Object.entries(await this.devices())) budgets[device] = bytes * defaultShare;
    for (const { device, bytes, share = 1 } of settings) {
      const has = (await this.devices())[device];
      // A share of a missing device is zero; an amount applies as given.
      if (bytes !== undefined) budgets[device] = bytes;
      else if (has !== undefined) budgets[device] = has * share;
    }
    return budgets;
  }

  async estimate(model: InstalledModel): Promise<DeviceBytes> {
    const bytes = await weightsBytes(model);
    const [first] = this.options.providers;
    const isOnGraphics = first === 'cuda' && (await this.devices()).cuda !== undefined;
    if (isOnGraphics) return { cpu: runtimeBytes, cuda: bytes };
    const { leastBytes, fullBytes } = await hostMemory(model);
    const { adapters = [] } = model;
    const beside = await Promise.all(adapters.map(weightsBytes));
    const more = beside.reduce((sum, bytes) => sum + bytes, 0);
    if (model.manifest.family !== 'decoder') return { cpu: leastBytes + more };
    // A text model whose cache could outgrow the budget has it to itself.
    const { cpu: budget = Infinity } = await this.budgets();
    return { cpu: Math.max(leastBytes, Math.min(fullBytes, budget)) + more };
  }

  async measure({ pid, provider, residentBytes }: LoadedHost): Promise<DeviceBytes | null> {
    if (residentBytes === 0) return null;
    if (provider !== 'cuda' || pid === null) return { cpu: residentBytes };
    const cuda = await this.options.graphics.usedBy(pid);
    // In a container the driver may not report memory per process; the estimate then stays.
    return cuda === null ? null : { cpu: residentBytes, cuda };
  }

  private devices(): Promise<Record<string, number>> {
    this.totals ??= this.readDevices();
    return this.totals;
  }

  private async readDevices(): Promise<Record<string, number>> {
    const { providers, graphics, mainBytes = mainMemoryBytes() } = this.options;
    const isWanted = providers.includes('cuda');
    const cuda = isWanted ? await graphics.totalBytes() : null;
    // A driver that starts slowly may report its device later.
    if (isWanted && cuda === null) this.totals = null;
    return { cpu: mainBytes, ...(cuda !== null && { cuda }) };
  }
}
