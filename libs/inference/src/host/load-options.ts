import { availableParallelism } from 'node:os';
import type { ModelManifest } from '#model-registry/manifest';
import type { HostLoadOptions } from '../contract/engine-loader.js';

/** More threads than this share no work of a small model worth the wait for the last of them. */
const maxThreads = 16;
const defaultSlots = 16;
const defaultContextLength = 2_048;

/** What whoever starts hosts says of every model. */
export interface HostSettings {
  /** Execution providers in order of preference. */
  providers: string[];
  /** Default: one a core, 16 at most. */
  threads?: number;
  /** Overrides the manifests. */
  slots?: number;
}

/** How to load the model that is installed in `directory`: as its manifest says, within the settings. */
export function hostLoadOptions(
  { manifest, directory }: { manifest: ModelManifest; directory: string },
  settings: HostSettings,
): HostLoadOptions {
  const slots = settings.slots ?? manifest.slots ?? defaultSlots;
  const contextLength = manifest.contextLength ?? longestInput(manifest) ?? defaultContextLength;
  return {
    modelId: manifest.id,
    directory,
    graphFile: manifest.graphFile,
    family: manifest.family,
    familyOptions: manifest.familyOptions ?? {},
    providers: settings.providers,
    intraOpThreads: settings.threads ?? Math.min(availableParallelism(), maxThreads),
    slots,
    contextLength,
    cacheTokens: manifest.cacheTokens ?? slots * contextLength,
  };
}

/** Embedding models say in their own members how long a text may be. */
function longestInput({ kindMembers }: ModelManifest): number | undefined {
  const { maxInputTokens } = kindMembers ?? {};
  return typeof maxInputTokens === 'number' ? maxInputTokens : undefined;
}
