import type { JobUsage } from '#common';
import type { ChargeLine, Pricing } from '#model-registry/manifest';

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
