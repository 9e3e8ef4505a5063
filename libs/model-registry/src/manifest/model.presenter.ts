import { builtCapabilities } from './built-capabilities.js';
import type { ModelManifest } from './manifest.js';

/** Runtime state that the manifest does not contain. */
export interface ModelMembership {
  /** True while no worker serves the model. */
  offline: boolean;
  /** Traits that currently resolve to this model; default: those of the manifest. */
  traits?: string[];
  /** True if the audio adapter of the model is served. Default: false. */
  hearsByAdapter?: boolean;
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

function presentSpec(manifest: ModelManifest, { offline, traits, hearsByAdapter = false }: ModelMembership) {
  return {
    name: manifest.name,
    description: manifest.description,
    modelSource: manifest.modelSource,
    privacy: manifest.privacy,
    offline,
    traits: traits ?? Object.keys(manifest.traits ?? {}),
    capabilities: { ...builtCapabilities(manifest), ...(hearsByAdapter ? { supportsAudioInput: true } : {}) },
    ...defined({
      availableContextTokens: manifest.contextLength,
      maxCompletionTokens: manifest.maxCompletionTokens,
      beta: manifest.beta,
      betaModel: manifest.betaModel,
      uncensored: manifest.uncensored,
      regionRestrictions: manifest.regionRestrictions,
      deprecation: manifest.deprecation,
      constraints: manifest.constraints,
      // A video's price depends on more than a list can express: clients request a quote.
      pricing: manifest.type === 'video' ? undefined : manifest.pricing,
    }),
    ...manifest.kindMembers,
  };
}

function defined<Members extends object>(members: Members): Partial<Members> {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Partial<Members>;
}
