import { errorText } from '#common/values';
import { formatBytes } from '#model-store';
import type { Logger } from '#platform/logging';
import type { ModelWithoutReplica } from '#queue';
import type { InstalledModel } from '../models-folder.js';
import type { ServedModel } from '../served-model.js';
import type { MachineMemory } from './machine-memory.js';
import { type DeviceBytes, planResidency, type RefusedModel, type ResidencyModel } from './residency-plan.js';

/** Share of a budget down to which models are unloaded once they exceed it. */
const lowWater = 0.9;

/** How long a request for a model counts, in ms: at least until the client retries after `Retry-After`. */
const minDemandMs = 30_000;

/** A model that the worker should load. */
export interface WantedModel {
  model: InstalledModel;
  pinned: boolean;
}

export interface ResidencyOptions {
  machine: MachineMemory;
  /** How long a ready model stays at least, in ms. */
  residencyMs: number;
  logger: Logger;
}

/** Actions to take now. */
export interface ResidencyDecision {
  load: InstalledModel[];
  evict: ServedModel[];
}

/**
 * Decides which wanted models are in memory: tracks budgets, sizes and demand, and calls `planResidency`. Takes no
 * action itself.
 */
export class ModelResidency {
  private budgets: DeviceBytes | null = null;
  private readonly unservedAtMs = new Map<string, number>();
  /** Measured sizes of models when they were last loaded here, by version. */
  private readonly sizes = new Map<string, DeviceBytes>();
  /** The smallest of them, by version: a host keeps memory of past requests for later ones. */
  private readonly idleSizes = new Map<string, DeviceBytes>();
  private readonly evictions = new Map<string, number>();
  private readonly warned = new Set<string>();
  private modelsWithoutReplica: ModelWithoutReplica[] = [];

  constructor(private readonly options: ResidencyOptions) {}

  /** Models that this worker should have loaded but has not, as of the last decision. */
  get withoutReplica(): readonly ModelWithoutReplica[] {
    return this.modelsWithoutReplica;
  }

  /** Memory budgets in bytes, by device; empty until the first decision. */
  get budget(): DeviceBytes {
    return this.budgets ?? {};
  }

  /** How often each model was evicted since the worker started. */
  get evictionCounts(): ReadonlyMap<string, number> {
    return this.evictions;
  }

  /** Records a request for a model without a replica; ignored when this worker has it loaded by now. */
  reportUnserved(modelId: string): void {
    this.unservedAtMs.set(modelId, performance.now());
  }

  /** True for a model that would be loaded if there were room. */
  isWaiting(modelId: string): boolean {
    return this.modelsWithoutReplica.some(
      (withoutReplica) => withoutReplica.modelId === modelId && withoutReplica.cause === 'waiting',
    );
  }

  /** Known memory of a model on this machine. */
  async sizeOf(model: InstalledModel): Promise<DeviceBytes> {
    return this.sizes.get(keyOf(model)) ?? (await this.options.machine.estimate(model));
  }

  /** Why this worker cannot load a model: it exceeds a device, or its folder cannot be read. Null when it can. */
  async obstacle(model: InstalledModel): Promise<ModelWithoutReplica | null> {
    const budgets = await this.readBudgets();
    try {
      const needs = await this.sizeOf(model);
      const device = Object.keys(budgets).find((provider) => (needs[provider] ?? 0) > (budgets[provider] ?? 0));
      if (device === undefined) return null;
      return tooLarge({
        id: model.manifest.id,
        device,
        needBytes: needs[device] ?? 0,
        budgetBytes: budgets[device] ?? 0,
      });
    } catch (error) {
      return unreadable(model, error);
    }
  }

  async decide(wanted: readonly WantedModel[], loaded: readonly ServedModel[]): Promise<ResidencyDecision> {
    const budgets = await this.readBudgets();
    await this.measure(loaded);
    const nowMs = performance.now();
    const { residencyMs } = this.options;
    const byId = new Map(loaded.map((served) => [served.id, served]));
    const unlisted = loaded.filter(({ id }) => !wanted.some(({ model }) => model.manifest.id === id));
    const broken: ModelWithoutReplica[] = [];
    const candidates = wanted.map((options) =>
      this.modelOf(options, byId.get(options.model.manifest.id)).catch((error: unknown) => {
        broken.push(unreadable(options.model, error));
        return [];
      }),
    );
    const models = [
      ...(await Promise.all(candidates)).flat(),
      ...(await Promise.all(unlisted.map((served) => this.unloadingModel(served)))),
    ];
    const demandMs = Math.max(residencyMs, minDemandMs);
    const rules = { budgets, lowWater, residencyMs, demandMs };
    const plan = planResidency(models, rules, nowMs);
    this.explain(plan.refused, plan.waiting, broken);
    for (const id of plan.load) this.unservedAtMs.delete(id);
    for (const id of plan.evict) this.evictions.set(id, (this.evictions.get(id) ?? 0) + 1);
    for (const [id, atMs] of this.unservedAtMs) if (nowMs - atMs > demandMs) this.unservedAtMs.delete(id);
    return {
      load: wanted.map(({ model }) => model).filter(({ manifest }) => plan.load.includes(manifest.id)),
      evict: plan.evict.flatMap((id) => byId.get(id) ?? []),
    };
  }

  /** Every model of the worker and its memory by device; estimated until measured. */
  memoryOf(served: ServedModel): DeviceBytes | null {
    return this.sizes.get(keyOf(served.model)) ?? null;
  }

  /**
   * Memory on a device that a request to one of the loaded models may take: what the others leave of the budget, without
   * what it needs itself when idle. Null while that is unknown.
   */
  availableTo(
    served: ServedModel,
    { loaded, device }: { loaded: readonly ServedModel[]; device: string },
  ): number | null {
    const budget = this.budget[device];
    const idle = this.idleSizes.get(keyOf(served.model))?.[device];
    if (budget === undefined || idle === undefined) return null;
    const others = loaded.filter((other) => other !== served).map((other) => this.memoryOf(other)?.[device] ?? 0);
    return Math.max(0, budget - idle - others.reduce((sum, bytes) => sum + bytes, 0));
  }

  private async readBudgets(): Promise<DeviceBytes> {
    const budgets = await this.options.machine.budgets();
    const isNews = JSON.stringify(budgets) !== JSON.stringify(this.budgets);
    this.budgets = budgets;
    if (!isNews) return budgets;
    const text = Object.entries(budgets).map(([device, bytes]) => `${formatBytes(bytes)} on ${device}`);
    const budgetBytes = Object.fromEntries(
      Object.entries(budgets).map(([device, bytes]) => [device, Math.round(bytes)] as const),
    );
    this.options.logger.info({ budgetBytes }, `models may take ${text.join(', ') || 'what they like'}`);
    return budgets;
  }

  private async measure(loaded: readonly ServedModel[]): Promise<void> {
    for (const { host, model } of loaded) {
      if (host.state !== 'ready' || host.report === null) continue;
      const { provider, residentBytes } = host.report;
      const size = await this.options.machine.measure({ pid: host.pid, provider, residentBytes });
      if (size === null) continue;
      this.sizes.set(keyOf(model), await this.withCache(model, size));
      this.idleSizes.set(keyOf(model), smaller(size, this.idleSizes.get(keyOf(model))));
    }
  }

  /** The cache of a text model grows with its requests, and is not there yet when it has just been loaded. */
  private async withCache(model: InstalledModel, measured: DeviceBytes): Promise<DeviceBytes> {
    if (model.manifest.type !== 'text') return measured;
    const estimated = await this.options.machine.estimate(model).catch((): DeviceBytes => ({}));
    const larger = ([device, bytes]: [string, number]) => [device, Math.max(bytes, estimated[device] ?? 0)] as const;
    return Object.fromEntries(Object.entries(measured).map(larger));
  }

  private async modelOf({ model, pinned }: WantedModel, served: ServedModel | undefined): Promise<ResidencyModel> {
    const { id } = model.manifest;
    const size = this.sizeOf(model);
    return {
      id,
      // Loaded models stay even when their size is unknown.
      needs: await (served === undefined ? size : size.catch(() => ({}))),
      pinned,
      unservedAtMs: this.unservedAtMs.get(id) ?? null,
      wasEvicted: this.evictions.has(id),
      loaded: served?.residency ?? null,
    };
  }

  /** True while a model that is no longer wanted is unloading; its memory is not free yet. */
  private async unloadingModel(served: ServedModel): Promise<ResidencyModel> {
    const { id, model, residency } = served;
    // Its folder, and with it its size, may no longer exist.
    const needs = await this.sizeOf(model).catch(() => ({}));
    return { id, needs, pinned: false, unservedAtMs: null, wasEvicted: false, loaded: { ...residency, leaving: true } };
  }

  private explain(
    refused: readonly RefusedModel[],
    waiting: readonly string[],
    broken: readonly ModelWithoutReplica[],
  ): void {
    const excessive = refused.map(tooLarge);
    const crowded = waiting.map((id) => ({
      modelId: id,
      cause: 'waiting' as const,
      reason: `${id} does not fit beside the loaded models; it is loaded once it is requested and others can be unloaded`,
    }));
    this.modelsWithoutReplica = [...excessive, ...crowded, ...broken];
    for (const { reason } of [...excessive, ...broken]) this.warnOnce(reason);
  }

  private warnOnce(reason: string): void {
    if (this.warned.has(reason)) return;
    this.warned.add(reason);
    this.options.logger.warn(reason);
  }
}

function tooLarge({ id, device, needBytes, budgetBytes }: RefusedModel): ModelWithoutReplica {
  const reason =
    `${id} is not loaded: it needs about ${formatBytes(needBytes)} on ${device}, and all models of this worker together ` +
    `may take ${formatBytes(budgetBytes)} (SLUICE_MEMORY_BUDGET)`;
  return { modelId: id, cause: 'too-large', reason };
}

/** A model of unknown size does not block the others; the next decision checks it again. */
function unreadable({ manifest: { id } }: InstalledModel, error: unknown): ModelWithoutReplica {
  const detail = errorText(error);
  return { modelId: id, cause: 'not-installed', reason: `${id} is not loaded: its folder cannot be read (${detail})` };
}

function smaller(size: DeviceBytes, known: DeviceBytes = size): DeviceBytes {
  return Object.fromEntries(
    Object.entries(size).map(([device, bytes]) => [device, Math.min(bytes, known[device] ?? bytes)]),
  );
}

function keyOf({ manifest, version }: InstalledModel): string {
  return `${manifest.id} ${version}`;
}
