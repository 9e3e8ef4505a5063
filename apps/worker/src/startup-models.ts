import { PlatformError } from '#common';
import type { ModelWithoutReplica } from '#queue';

/** A model that the worker has loaded or loads, as its readiness sees it. */
export interface StartingModel {
  readonly id: string;
  /** It has taken jobs at least once. */
  readonly hasServed: boolean;
  /** Why its last load failed; null while loads succeed. */
  readonly loadFailure: string | null;
}

/** The models that a worker is to serve, and those that it has loaded. */
export interface StartupView {
  /** False until the models folder was read with the current placements. */
  isPlanned: boolean;
  /** Ids of the models that it is to serve, without those that it waits to load until there is memory. */
  due: readonly string[];
  models: readonly StartingModel[];
  /** Models that it is to serve and cannot load, such as one that is not installed. */
  missing: readonly ModelWithoutReplica[];
}

/** Returns what a starting worker waits for, for operators; empty when it serves all that it is to serve. */
export function pendingModels({ isPlanned, due, models, missing }: StartupView): string[] {
  if (!isPlanned) return ['the placements of its pools, which ops publishes, are not known yet'];
  const isMissing = (id: string) => missing.some(({ modelId }) => modelId === id);
  const pending = due.flatMap((id) => {
    const model = models.find((candidate) => candidate.id === id);
    if (model?.hasServed === true || isMissing(id)) return [];
    return [model?.loadFailure ? `${id} is not loaded: ${model.loadFailure}` : `${id} is being loaded`];
  });
  return [...pending, ...missing.map(({ reason }) => reason)];
}

/**
 * The readiness check of a worker's models. It fails until every model that the worker is to serve was loaded once. From
 * then on the worker stays ready: a host that is restarted, an eviction, and a model that is placed later are no reason
 * to replace the worker, which serves the others. A model that cannot be loaded is then only reported.
 */
export class StartupModels {
  private done = false;

  constructor(
    private readonly options: {
      view: () => StartupView;
      /** Models that count as failed. */
      failed: () => readonly ModelWithoutReplica[];
      /** Publishes the state of the models; resolves when it is sent. */
      announce: () => Promise<void>;
    },
  ) {}

  /** True once it was ready. */
  get isDone(): boolean {
    return this.done;
  }

  /** Rejects with what the worker waits for. */
  async check(): Promise<void> {
    const reasons = this.done ? this.options.failed().map(({ reason }) => reason) : pendingModels(this.options.view());
    if (reasons.length > 0) throw new PlatformError('SERVICE_UNAVAILABLE', `${reasons.join('; ')}.`);
    if (this.done) return;
    // Others must know its models before a worker is stopped because this one is ready.
    await this.options.announce();
    this.done = true;
  }
}
