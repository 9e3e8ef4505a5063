import { builtCapabilities, builtMembers } from './built-capabilities.js';
import type { ModelManifest } from './manifest.js';
import { usesWeb } from './web-capabilities.js';

/** Runtime state that the manifest does not contain. */
export interface ModelMembership {
  /** True while no worker serves the model. */
  offline: boolean;
  /** Traits that currently resolve to this model; default: those of the manifest. */
  traits?: string[];
  /** True if the audio adapter of the model is served. Default: false. */
  hearsByAdapter?: boolean;
  /** Largest image that its workers have memory for, in pixels; null where no size is too large. Default: null. */
  maxPixels?: number | null;
  /** True if a provider of web searches is configured. Default: false. */
  canSearch?: boolean;
  /** True if the manifest's provider of x searches is configured. Default: false. */
  canSearchX?: boolean;
  /** True if every worker that serves the model has evidence of trusted hardware. Default: false. */
  isAttested?: boolean;
}

export type PresentedModel = ReturnType<typeof presentModel>;

/** Builds one entry of `GET /models`. Absent members stay absent. */
export function presentModel(manifest: ModelManifest, membership: ModelMembership) {
  return {
    id: manifest.id,
    object: 'model' as const,
    created: manifest.created,
    owned_by: manifest.ownedBy,
    type: manifest.type,
    ...(manifest.type === 'text' ? defined({ context_length: manifest.contextLength }) : {}),
    model_spec: presentSpec(manifest, membership),
  };
}

function presentSpec(manifest: ModelManifest, membership: ModelMembership) {
  const { offline, traits, hearsByAdapter = false, canSearch = false, canSearchX = false, maxPixels } = membership;
  const { isAttested = false } = membership;
  return {
    name: manifest.name,
    description: manifest.description,
    modelSource: manifest.modelSource,
    privacy: manifest.privacy,
    offline,
    traits: traits ?? Object.keys(manifest.traits ?? {}),
    capabilities: {
      ...builtCapabilities(manifest),
      ...(hearsByAdapter ? { supportsAudioInput: true } : {}),
      ...(canSearch && usesWeb(manifest) ? { supportsWebSearch: true } : {}),
      ...(canSearchX && manifest.type === 'text' ? { supportsXSearch: true } : {}),
      ...(isAttested ? { supportsTeeAttestation: true } : {}),
    },
    ...defined({
      availableContextTokens: manifest.contextLength,
      maxCompletionTokens: manifest.maxCompletionTokens,
      maxPixels: maxPixels ?? undefined,
      beta: manifest.beta,
      betaModel: manifest.betaModel,
      uncensored: manifest.uncensored,
      regionRestrictions: manifest.regionRestrictions,
      deprecation: manifest.deprecation,
      constraints: manifest.constraints,
      // A video's price depends on more than a list can express: clients request a quote.
      pricing: manifest.type === 'video' ? undefined : manifest.pricing,
    }),
    ...builtMembers(manifest, manifest.kindMembers ?? {}),
  };
}

function defined<Members extends object>(members: Members): Partial<Members> {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Partial<Members>;
}
