import { formatBytes } from '#model-store';
import type { Logger } from '#platform/logging';
import type { ModelWithoutReplica } from '#queue';
import type { InstalledModel } from '../models-folder.js';
import type { ServedModel } from '../served-model.js';
import type { MachineMemory } from './machine-memory.js';
import { type DeviceBytes, planResidency, type RefusedModel, type ResidencyModel } from './residency-plan.js';

/** Models may outgrow a budget; then they leave until this share of it is in use. */
const lowWater = 0.9;

/** The wish of a caller counts at least until it comes back, as `Retry-After` tells it to; in ms. */
const minDemandMs = 30_000;

/** A model that the worker should hold. */
export interface WantedModel {
  model: InstalledModel;
  pinned: boolean;
}

export interface ResidencyOptions {
  machine: MachineMemory;
  /** How long a model stays at least once it is ready, in ms. */
  residencyMs: number;
  logger: Logger;
}

/** What is to be done now. */
export interface ResidencyDecision {
  load: InstalledModel[];
  evict: ServedModel[];
}

/**
 * Decides which of the wanted models are in memory: keeps the budgets, remembers sizes and wishes, and asks
 * `planResidency`. Does nothing itself.
 */
export class ModelResidency {
  private budgets: DeviceBytes | null = null;
  private readonly missedAtMs = new Map<string, number>();
  /** What models took when they were last held here, by version. */
  private readonly sizes = new Map<string, DeviceBytes>();
  private readonly evictions = new Map<string, number>();
  private readonly told = new Set<string>();
  private modelsWithoutReplica: ModelWithoutReplica[] = [];

  constructor(private readonly options: ResidencyOptions) {}

  /** What this worker should hold and does not; as of the last decision. */
  get withoutReplica(): readonly ModelWithoutReplica[] {
    return this.modelsWithoutReplica;
  }

  /** Bytes that models may take, by device; empty until the first decision. */
  get budget(): DeviceBytes {
    return this.budgets ?? {};
  }

  /** How often each model had to make room, since the worker started. */
  get evictionCounts(): ReadonlyMap<string, number> {
    return this.evictions;
  }

  /** A caller asked for a model that nobody held; one that this worker holds by now is not missed. */
  miss(modelId: string): void {
    this.missedAtMs.set(modelId, performance.now());
  }

  /** True for a model that would be held if there were room. */
  isWaiting(modelId: string): boolean {
    return this.modelsWithoutReplica.some(
      (withoutReplica) => withoutReplica.modelId === modelId && withoutReplica.cause === 'waiting',
    );
  }

  /** What a model is known to take here. */
  async sizeOf(model: InstalledModel): Promise<DeviceBytes> {
    return this.sizes.get(keyOf(model)) ?? (await this.options.machine.estimate(model));
  }

  /** Why this worker cannot hold a model: it is larger than a device, or its folder cannot be read; null when it can. */
  async obstacle(model: InstalledModel): Promise<ModelWithoutReplica | null> {
    const budgets = await this.readBudgets();
    try {
      const needs = await this.sizeOf(model);
      const device = Object.keys(budgets).find((each) => (needs[each] ?? 0) > (budgets[each] ?? 0));
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

  async decide(wanted: readonly WantedModel[], held: readonly ServedModel[]): Promise<ResidencyDecision> {
    const budgets = await this.readBudgets();
    await this.measure(held);
    const nowMs = performance.now();
    const { residencyMs } = this.options;
    const byId = new Map(held.map((served) => [served.id, served]));
    const unlisted = held.filter(({ id }) => !wanted.some(({ model }) => model.manifest.id === id));
    const broken: ModelWithoutReplica[] = [];
    const wishes = wanted.map((options) =>
      this.modelOf(options, byId.get(options.model.manifest.id)).catch((error: unknown) => {
        broken.push(unreadable(options.model, error));
        return [];
      }),
    );
    const models = [
      ...(await Promise.all(wishes)).flat(),
      ...(await Promise.all(unlisted.map((served) => this.leaver(served)))),
    ];
    const demandMs = Math.max(residencyMs, minDemandMs);
    const rules = { budgets, lowWater, residencyMs, demandMs };
    const plan = planResidency(models, rules, nowMs);
    this.explain(plan.refused, plan.waiting, broken);
    for (const id of plan.load) this.missedAtMs.delete(id);
    for (const id of plan.evict) this.evictions.set(id, (this.evictions.get(id) ?? 0) + 1);
    for (const [id, atMs] of this.missedAtMs) if (nowMs - atMs > demandMs) this.missedAtMs.delete(id);
    return {
      load: wanted.map(({ model }) => model).filter(({ manifest }) => plan.load.includes(manifest.id)),
      evict: plan.evict.flatMap((id) => byId.get(id) ?? []),
    };
  }

  /** Every model of the worker, and what it takes by device; estimated until it was measured. */
  memoryOf(served: ServedModel): DeviceBytes | null {
    return this.sizes.get(keyOf(served.model)) ?? null;
  }

  private async readBudgets(): Promise<DeviceBytes> {
    const budgets = await this.options.machine.budgets();
    const isNews = JSON.stringify(budgets) !== JSON.stringify(this.budgets);
    this.budgets = budgets;
    if (!isNews) return budgets;
    const text = Object.entries(this.budgets).map(([device, bytes]) => `${formatBytes(bytes)} on ${device}`);
    this.options.logger.info({ budgets: this.budgets }, `models may take ${text.join(', ') || 'what they like'}`);
    return budgets;
  }

  private async measure(held: readonly ServedModel[]): Promise<void> {
    for (const { host, model } of held) {
      if (host.state !== 'ready' || host.report === null) continue;
      const { provider, residentBytes } = host.report;
      const size = await this.options.machine.measure({ pid: host.pid, provider, residentBytes });
      if (size !== null) this.sizes.set(keyOf(model), size);
    }
  }

  private async modelOf({ model, pinned }: WantedModel, served: ServedModel | undefined): Promise<ResidencyModel> {
    const { id } = model.manifest;
    const size = this.sizeOf(model);
    return {
      id,
      // What is held stays, though nobody could tell how large it is.
      needs: await (served === undefined ? size : size.catch(() => ({}))),
      pinned,
      missedAtMs: this.missedAtMs.get(id) ?? null,
      wasEvicted: this.evictions.has(id),
      held: served?.residency ?? null,
    };
  }

  /** It is on its way out because nobody wants it any more; its room is not free yet. */
  private async leaver(served: ServedModel): Promise<ResidencyModel> {
    const { id, model, residency } = served;
    // Its folder may be gone, and its size with it.
    const needs = await this.sizeOf(model).catch(() => ({}));
    return { id, needs, pinned: false, missedAtMs: null, wasEvicted: false, held: { ...residency, leaving: true } };
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
      reason: `${id} does not fit beside what is held; it is loaded when it is asked for and others can leave`,
    }));
    this.modelsWithoutReplica = [...excessive, ...crowded, ...broken];
    for (const { reason } of [...excessive, ...broken]) this.tellOnce(reason);
  }

  private tellOnce(reason: string): void {
    if (this.told.has(reason)) return;
    this.told.add(reason);
    this.options.logger.warn(reason);
  }
}

function tooLarge({ id, device, needBytes, budgetBytes }: RefusedModel): ModelWithoutReplica {
  const reason =
    `${id} is not loaded: it needs about ${formatBytes(needBytes)} on ${device}, and all models of this worker together ` +
    `may take ${formatBytes(budgetBytes)} (SLUICE_MEMORY_BUDGET)`;
  return { modelId: id, cause: 'too-large', reason };
}

/** One model whose size cannot be told holds up none of the others; it is looked at again at the next decision. */
function unreadable({ manifest: { id } }: InstalledModel, error: unknown): ModelWithoutReplica {
  const detail = error instanceof Error ? error.message : String(error);
  return { modelId: id, cause: 'not-installed', reason: `${id} is not loaded: its folder cannot be read (${detail})` };
}

function keyOf({ manifest, version }: InstalledModel): string {
  return `${manifest.id} ${version}`;
}
