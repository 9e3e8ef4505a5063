import type { NanoUsd, JobUsage } from '#common';
import type { Pricing } from './pricing.js';

/** One position of a charge, as it will stand in the ledger and in the caller's usage history. */
export interface ChargeLine {
  /** What was sold, for example `tiny-llama-llm-output-mtoken`. */
  sku: string;
  /** In units of the price as a decimal: millions of tokens for text. */
  units: string;
  unitPriceNano: NanoUsd;
  amountNano: NanoUsd;
}

/** What a job has used. */
export interface MeteredJob {
  modality: string;
  modelId: string;
  usage: JobUsage;
  /** As it was when the job was admitted; null: free. */
  pricing: Pricing | null;
}

/** Turns usage into positions; pure. The modalities know how, each for its own. */
export type Meter = (job: MeteredJob) => ChargeLine[];
