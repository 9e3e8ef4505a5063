import type { JobUsage } from '#common';
import type { ChargeLine, Pricing } from '#model-registry/manifest';

/** The usage of a job. */
export interface MeteredJob {
  modality: string;
  modelId: string;
  usage: JobUsage;
  /** The price at the admission of the job; null: free. */
  pricing: Pricing | null;
}

/** Pass it alone as `cursor` for the next page, within 24 h. */
export type Meter = (job: MeteredJob) => ChargeLine[];
