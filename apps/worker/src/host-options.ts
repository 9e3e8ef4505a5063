import { availableParallelism } from 'node:os';
import type { HostLoadOptions } from '#inference/host';
import type { InstalledModel } from './models-folder.js';

/** More threads than this share no work of a small model worth the wait for the last of them. */
const mostThreads = 16;
const defaultSlots = 16;
const defaultContextLength = 2_048;

/** What the worker's configuration says about every model. */
export interface HostSettings {
  providers: string[];
  threads?: number;
  /** Overrides the manifests. */
  slots?: number;
}

/** How to load one model: its manifest, within the worker's settings. */
export function hostLoadOptions({ manifest, directory }: InstalledModel, settings: HostSettings): HostLoadOptions {
  const slots = settings.slots ?? manifest.slots ?? defaultSlots;
  const contextLength = manifest.contextLength ?? longestInput(manifest) ?? defaultContextLength;
  return {
    modelId: manifest.id,
    directory,
    graphFile: manifest.graphFile,
    family: manifest.family,
    familyOptions: manifest.familyOptions ?? {},
    providers: settings.providers,
    intraOpThreads: settings.threads ?? Math.min(availableParallelism(), mostThreads),
    slots,
    contextLength,
    cacheTokens: manifest.cacheTokens ?? slots * contextLength,
  };
}

/** Embedding models say in their own members how long a text may be. */
function longestInput({ kindMembers }: InstalledModel['manifest']): number | undefined {
  const { maxInputTokens } = kindMembers ?? {};
  return typeof maxInputTokens === 'number' ? maxInputTokens : undefined;
}
