import { queueName } from '../jobs/job-definition.js';

export interface PoolRole {
  /** Prefix of the queue's keys, as in `SLUICE_NAMESPACE`. */
  namespace: string;
  pool: string;
  password: string;
  modelIds: readonly string[];
  /** Every kind of job: a model has a queue for each. */
  modalities: readonly string[];
}

/** The queues of the role's models; `write` changes the ids, for servers that give some characters a meaning. */
export function queuesOf({ modelIds, modalities }: PoolRole, write = (modelId: string) => modelId): string[] {
  return modelIds.flatMap((modelId) => modalities.map((modality) => queueName(modality, write(modelId))));
}

export function withUser(server: string, { user, password }: { user: string; password: string }): string {
  const url = new URL(server);
  url.username = user;
  url.password = password;
  return url.href;
}
