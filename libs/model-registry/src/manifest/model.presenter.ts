import { builtCapabilities } from './built-capabilities.js';
import type { ModelManifest } from './manifest.js';

/** What the manifest cannot know. */
export interface ModelMembership {
  /** True until a worker holds the model. */
  offline: boolean;
  /** Traits that mean this model now; absent: those of the manifest. */
  traits?: string[];
}

export type PresentedModel = ReturnType<typeof presentModel>;

/** One entry of `GET /models`, in the exact shape of the contract (section 9.1). Absent members stay absent. */
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

function presentSpec(manifest: ModelManifest, { offline, traits }: ModelMembership) {
  return {
    name: manifest.name,
    description: manifest.description,
    modelSource: manifest.modelSource,
    privacy: manifest.privacy,
    offline,
    traits: traits ?? Object.keys(manifest.traits ?? {}),
    capabilities: builtCapabilities(manifest),
    ...defined({
      availableContextTokens: manifest.contextLength,
      maxCompletionTokens: manifest.maxCompletionTokens,
      beta: manifest.beta,
      betaModel: manifest.betaModel,
      uncensored: manifest.uncensored,
      regionRestrictions: manifest.regionRestrictions,
      deprecation: manifest.deprecation,
      constraints: manifest.constraints,
      // What a video costs depends on more than a list can say: callers ask for a quote (contract 9.1).
      pricing: manifest.type === 'video' ? undefined : manifest.pricing,
    }),
    ...manifest.kindMembers,
  };
}

function defined<Members extends object>(members: Members): Partial<Members> {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Partial<Members>;
}
