import type { ModelManifest } from '#model-registry/manifest';

/** Limits per minute for a kind of model. Null: no such limit. */
export interface Limits {
  requests: number | null;
  tokens: number | null;
}

export type LimitTier = 'default' | 'partner';

/** Text models have the class of their tier; `retrieve` is polling an async job, `rpc` calls of blockchain nodes. */
export const limitClasses = [
  'XS',
  'S',
  'M',
  'L',
  'image',
  'audio',
  'embedding',
  'video_queue',
  'retrieve',
  'rpc',
] as const;
export type LimitClass = (typeof limitClasses)[number];

const only = (requests: number): Limits => ({ requests, tokens: null });

/** The default limits. Partners have the default value where no partner value is named. */
export const limitTable: Record<LimitClass, Record<LimitTier, Limits>> = {
  XS: { default: { requests: 500, tokens: 1_000_000 }, partner: { requests: 500, tokens: 2_000_000 } },
  S: { default: { requests: 75, tokens: 750_000 }, partner: { requests: 150, tokens: 1_500_000 } },
  M: { default: { requests: 50, tokens: 750_000 }, partner: { requests: 100, tokens: 1_500_000 } },
  L: { default: { requests: 20, tokens: 500_000 }, partner: { requests: 60, tokens: 1_000_000 } },
  image: { default: only(20), partner: only(60) },
  audio: { default: only(60), partner: only(120) },
  embedding: { default: only(500), partner: only(500) },
  video_queue: { default: only(40), partner: only(40) },
  retrieve: { default: only(120), partner: only(120) },
  rpc: { default: only(100), partner: only(1_000) },
};

/** Turns of an account among the waiting jobs of a model, for one turn of an account of weight 1. */
export const turnWeights: Record<LimitTier, number> = { default: 1, partner: 2 };

/** Open requests of an account of each tier, as a multiple of the default. */
export const concurrencyFactors: Record<LimitTier, number> = { default: 1, partner: 5 };

const classOfType = {
  image: 'image',
  inpaint: 'image',
  upscale: 'image',
  asr: 'audio',
  music: 'audio',
  tts: 'audio',
  embedding: 'embedding',
  rerank: 'embedding',
  video: 'video_queue',
} as const;

/** Returns the class of running a model. */
export function limitClassOf({ type, tier }: Pick<ModelManifest, 'type' | 'tier'>): LimitClass {
  return type === 'text' ? tier : classOfType[type];
}
