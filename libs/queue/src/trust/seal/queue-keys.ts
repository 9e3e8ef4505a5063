import { deriveKey } from '#common';
import { everyModel, type Seals } from '../../contract/seals.js';
import { PayloadSeal } from './payload-seal.js';

/** The name of a bus key, where other keys name their model. No model has this id. */
export const busKeyName = '@bus';

/** The most derived keys that are kept. */
const maxSeals = 1_000;

/**
 * The keys of a process. A key of the installation (64 hex digits) opens everything; `<model>:<key>` opens the jobs of
 * one model. Workers of a pool get only such keys, and `@bus:<key>`, with which they verify what api and ops send.
 */
export class QueueKeys implements Seals {
  readonly installation: readonly string[];
  /** Public keys of the bus, as 64 hex digits. */
  readonly busKeys: readonly string[];
  private readonly ofModels: ReadonlyMap<string, readonly string[]>;
  private readonly seals = new Map<string, PayloadSeal>();

  constructor(keys: readonly string[]) {
    this.installation = keys.filter((key) => !key.includes(':'));
    const all = keys.filter((key) => key.includes(':')).map((key) => key.split(':') as [string, string]);
    this.busKeys = all.filter(([name]) => name === busKeyName).map(([, key]) => key);
    const named = all.filter(([name]) => name !== busKeyName);
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

  /** The only models whose jobs can be opened here, or null when all can. */
  get models(): readonly string[] | null {
    return this.installation.length > 0 || this.isEmpty ? null : [...this.ofModels.keys()];
  }

  /**
   * Returns which replies this process can send for a model: those of every model (`everyModel`), those of this one, or
   * none (null).
   */
  replyScopeOf(modelId: string): string | null {
    if (this.models === null) return everyModel;
    return this.ofModels.has(modelId) ? modelId : null;
  }

  /** Returns the keys of a model, as hex digits: the first seals. */
  keysOf(modelId: string): readonly string[] {
    return [...this.installation.map((key) => modelKeyOf(key, modelId)), ...(this.ofModels.get(modelId) ?? [])];
  }

  /** Null without a key for the model. */
  sealOf(modelId: string): PayloadSeal | null {
    const known = this.seals.get(modelId);
    if (known !== undefined) return known;
    // The cache is bounded because names may come from messages of others.
    if (this.seals.size >= maxSeals) this.seals.clear();
    const [first, ...others] = this.keysOf(modelId);
    if (first === undefined) return null;
    const seal = new PayloadSeal([first, ...others]);
    this.seals.set(modelId, seal);
    return seal;
  }
}

function modelKeyOf(installationKey: string, modelId: string): string {
  return deriveKey(installationKey, `queue of ${modelId}`).toString('hex');
}

/** Returns the keys of these models, and no key of the installation. */
export function keysOfModels(installationKeys: readonly string[], modelIds: readonly string[]): string[] {
  return modelIds.flatMap((modelId) => installationKeys.map((key) => `${modelId}:${modelKeyOf(key, modelId)}`));
}
