import type { MemoryBudgetSetting } from '#platform/config';
import { mainMemoryBytes } from '#platform/devices';
import type { InstalledModel } from '../models-folder.js';
import { weightsBytes } from './weights-size.js';
import type { GraphicsMemory } from './graphics-memory.js';
import type { DeviceBytes } from './residency-plan.js';

/** A loaded model, as far as its size is concerned. */
export interface LoadedHost {
  pid: number | null;
  provider: string;
  residentBytes: number;
}

/** What models take of this machine, and how much they may. Tests bring one of paper (`test/harness/paper-machine.ts`). */
export interface MachineMemory {
  /** Bytes that models may take, by device; asked at every decision, since a device may become known late. */
  budgets(): Promise<DeviceBytes>;
  /** What a model that was never loaded here will take, about. */
  estimate(model: InstalledModel): Promise<DeviceBytes>;
  /** What a loaded one takes; null while that is not known. */
  measure(host: LoadedHost): Promise<DeviceBytes | null>;
}

/** The rest is for the worker itself, for ffmpeg, and for what models need on top for a moment. */
const defaultShare = 0.9;

/** A host takes so much beside the weights of its model: the runtime's libraries, tokenizer, buffers. */
const hostBytes = 96 * 2 ** 20;

/** This machine: its main memory, or what its cgroup leaves of it, and the first GPU or MIG slice where there is one. */
export class ThisMachine implements MachineMemory {
  private totals: Promise<Record<string, number>> | null = null;

  constructor(
    private readonly options: {
      settings: readonly MemoryBudgetSetting[];
      /** Execution providers in order of preference. */
      providers: readonly string[];
      graphics: GraphicsMemory;
      /** Bytes of main memory; default: what the cgroup allows, else what is built in. */
      mainBytes?: number;
    },
  ) {}

  async budgets(): Promise<DeviceBytes> {
    const { settings } = this.options;
    const budgets: Record<string, number> = {};
    for (const [device, bytes] of Object.entries(await this.devices())) budgets[device] = bytes * defaultShare;
    for (const { device, bytes, share = 1 } of settings) {
      const has = (await this.devices())[device];
      // A share of a device that is not there is nothing; an amount is taken at its word.
      if (bytes !== undefined) budgets[device] = bytes;
      else if (has !== undefined) budgets[device] = has * share;
    }
    return budgets;
  }

  async estimate(model: InstalledModel): Promise<DeviceBytes> {
    const bytes = await weightsBytes(model);
    const [first] = this.options.providers;
    const isOnGraphics = first === 'cuda' && (await this.devices()).cuda !== undefined;
    return isOnGraphics ? { cpu: hostBytes, cuda: bytes } : { cpu: hostBytes + bytes };
  }

  async measure({ pid, provider, residentBytes }: LoadedHost): Promise<DeviceBytes | null> {
    if (residentBytes === 0) return null;
    if (provider !== 'cuda' || pid === null) return { cpu: residentBytes };
    const cuda = await this.options.graphics.usedBy(pid);
    // A container may hide which process takes how much: then the estimate stands.
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
    // A driver that is slow when the machine starts may tell of its device later.
    if (isWanted && cuda === null) this.totals = null;
    return { cpu: mainBytes, ...(cuda !== null && { cuda }) };
  }
}
