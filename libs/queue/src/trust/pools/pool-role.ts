import { queueName } from '../../contract/job-definition.js';

export interface PoolRole {
  /** Prefix of the queue's keys, as in `SLUICE_NAMESPACE`. */
  namespace: string;
  pool: string;
  password: string;
  modelIds: readonly string[];
  /** Every kind of job, because a model has a queue for each. */
  modalities: readonly string[];
}

/** Returns the queues of the role's models. `write` escapes the ids for servers that give some characters a meaning. */
export function queuesOf({ modelIds, modalities }: PoolRole, write = (modelId: string) => modelId): string[] {
  return modelIds.flatMap((modelId) => modalities.map((modality) => queueName(modality, write(modelId))));
}

/** Returns the prefix of the names of all pools' users on Redis. */
export function poolUserPrefix(namespace: string): string {
  return `${namespace}-pool-`;
}

/** Returns the prefix of the names of all pools' roles on PostgreSQL. */
export function poolRolePrefix(namespace: string): string {
  return `${namespace}_pool_`;
}

/** Returns the prefix of the Redis channels on which workers of pools send. The pool and a colon follow it. */
export function poolChannels(namespace: string): string {
  return `${namespace}:pool-bus:`;
}

/** Returns the pool whose Redis user a URL names, or null for any other user. */
export function poolOfUrl(url: string, namespace: string): string | null {
  const user = decodeURIComponent(new URL(url).username);
  const prefix = poolUserPrefix(namespace);
  return user.startsWith(prefix) ? user.slice(prefix.length) : null;
}

export function withUser(server: string, { user, password }: { user: string; password: string }): string {
  const url = new URL(server);
  url.username = user;
  url.password = password;
  return url.href;
}
