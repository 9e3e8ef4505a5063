import type { JobDefinition } from '#queue';

/** Every kind of job, by modality; the process provides it. */
export abstract class JobCatalog {
  abstract readonly definitions: ReadonlyMap<string, JobDefinition<object, object>>;
}
