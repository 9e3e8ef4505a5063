import type { Pricing } from '#model-registry/manifest';

/** A dated price of a model. */
export interface ModelPrice {
  /** Null for the price of a service without a model, which no row holds. */
  id: bigint | null;
  modelId: string;
  /** Null: the model is free. */
  pricing: Pricing | null;
}
