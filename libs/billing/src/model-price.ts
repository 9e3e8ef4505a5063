import type { Pricing } from '#model-registry/manifest';

/** A dated price of a model. */
export interface ModelPrice {
  id: bigint;
  modelId: string;
  /** Null: the model is free. */
  pricing: Pricing | null;
}
