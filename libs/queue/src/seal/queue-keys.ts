import { deriveKey } from '#common';
import { PayloadSeal } from './payload-seal.js';

/** Names the key of what concerns no single model; no model has this id. */
export const everyModel = '';

/** Derived keys that are kept. */
const maxSeals = 1_000;

/**
 * The keys of a process. A key of the installation (64 hex digits) opens everything; `<model>:<key>` opens the jobs of one
 * model, and is all that the workers of a pool of their own get.
 */
export class QueueKeys {
  private readonly installation: readonly string[];
  private readonly ofModels: ReadonlyMap<string, readonly string[]>;
  private readonly seals = new Map<string, PayloadSeal>();

  constructor(keys: readonly string[]) {
    this.installation = keys.filter((key) => !key.includes(':'));
    const named = keys.filter((key) => key.includes(':')).map((key) => key.split(':') as [string, string]);
    this.ofModels = new Map(
      [...new Set(named.map(([modelId]) => modelId))].map((modelId) => [
        modelId,
        named.filter(([name]) => name === modelId).map(([, key]) => key),
      ]),
    );
  }

  get isEmpty(): boolean {
    return this.installation.length === 0 && this.ofModels.size === 0;
  }

  /** The models whose jobs alone can be opened here; null: those of all models. */
  get models(): readonly string[] | null {
    return this.installation.length > 0 || this.isEmpty ? null : [...this.ofModels.keys()];
  }

  /**
   * Which replies this process can send for a model: those of every model (`everyModel`), those of this one, or none
   * (null).
   */
  replyScopeOf(modelId: string): string | null {
    if (this.models === null) return everyModel;
    return this.ofModels.has(modelId) ? modelId : null;
  }

  /** Null without a key for the model. */
  sealOf(modelId: string): PayloadSeal | null {
    const known = this.seals.get(modelId);
    if (known !== undefined) return known;
    // Names may come from messages of others.
    if (this.seals.size >= maxSeals) this.seals.clear();
    const derived = this.installation.map((key) => modelKeyOf(key, modelId));
    const [first, ...others] = [...derived, ...(this.ofModels.get(modelId) ?? [])];
    if (first === undefined) return null;
    const seal = new PayloadSeal([first, ...others]);
    this.seals.set(modelId, seal);
    return seal;
  }
}

/** Returns the value of `SLUICE_QUEUE_KEY` for workers that serve these models alone. */
export function keysOfModels(installationKeys: readonly string[], modelIds: readonly string[]): string[] {
  return modelIds.flatMap((modelId) => installationKeys.map((key) => `${modelId}:${modelKeyOf(key, modelId)}`));
}

function modelKeyOf(installationKey: string, modelId: string): string {
  return deriveKey(installationKey, `queue of ${modelId}`).toString('hex');
}
