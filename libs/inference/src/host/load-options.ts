import type { ModelManifest } from '#model-registry/manifest';
import { availableProcessors } from '#platform/process';
import type { TeeChoice } from '#tee';
import type { HostLoadOptions } from '../contract/engine-loader.js';

/** Maximum threads: more do not speed up a small model. */
const maxThreads = 16;
const defaultSlots = 16;
const defaultContextLength = 2_048;

/** One spare slot for so many slots, or a part of them; a host of one slot runs one request at a time. */
const slotsPerSpareSlot = 16;

/** Host settings shared by all models. */
export interface HostSettings {
  /** Execution providers in order of preference. */
  providers: string[];
  /** As in `HostLoadOptions`. */
  providerLibraries?: HostLoadOptions['providerLibraries'];
  /** Default: one per core, at most 16. */
  threads?: number;
  /** Overrides the manifests. */
  slots?: number;
  /** As in `HostLoadOptions`. */
  draftTokens?: number;
  /** As in `HostLoadOptions`. */
  tee?: TeeChoice;
}

/** An installed model, and adapters of it that are served with it. */
export interface LoadableModel {
  manifest: ModelManifest;
  directory: string;
  adapters?: readonly { manifest: ModelManifest; directory: string }[];
}

/** Returns the load options of the model installed in `directory`: its manifest within the settings. */
export function hostLoadOptions(
  { manifest, directory, adapters = [] }: LoadableModel,
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
    reasoning: reasoningOf(manifest),
    ...(manifest.toolStyle === undefined ? {} : { toolStyle: manifest.toolStyle }),
    ...(adapters.length > 0 && {
      adapters: adapters.map((adapter) => ({ modelId: adapter.manifest.id, directory: adapter.directory })),
    }),
    providers: settings.providers,
    ...(settings.providerLibraries !== undefined && { providerLibraries: settings.providerLibraries }),
    quantization: manifest.capabilities.quantization,
    intraOpThreads: settings.threads ?? Math.min(availableProcessors(), maxThreads),
    slots,
    spareSlots: slots > 1 ? Math.ceil(slots / slotsPerSpareSlot) : 0,
    contextLength,
    cacheTokens: manifest.cacheTokens ?? slots * contextLength,
    ...(settings.draftTokens !== undefined && { draftTokens: settings.draftTokens }),
    ...(settings.tee !== undefined && { tee: settings.tee }),
  };
}

function reasoningOf({ reasoning, capabilities }: ModelManifest): HostLoadOptions['reasoning'] {
  const { open, close } = reasoning ?? {};
  if (open !== undefined && close !== undefined) return { open, close };
  return capabilities.supportsReasoning || capabilities.supportsReasoningEffort ? 'usual' : null;
}

/** Returns the context length; embedding models set it in members of their own. */
function longestInput({ kindMembers }: ModelManifest): number | undefined {
  const { maxInputTokens } = kindMembers ?? {};
  return typeof maxInputTokens === 'number' ? maxInputTokens : undefined;
}
