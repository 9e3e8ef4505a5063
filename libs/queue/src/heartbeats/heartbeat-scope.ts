import type { Heartbeat } from '../contract/heartbeat.js';

/**
 * Returns true when a process that has only the keys of these models may say so about itself. With null it may say
 * everything.
 */
export function isWithinScope({ role, replyAddress, ...said }: Heartbeat, models: readonly string[] | null): boolean {
  if (models === null) return true;
  // Only an api has a reply address, and its jobs are cancelled when it is gone.
  if (role !== 'worker' || replyAddress !== null) return false;
  const { length } = namesOf(said);
  return namesOf(restrictToScope({ role, replyAddress, ...said }, models)).length === length;
}

/** Returns the heartbeat without models whose keys the process does not have: helper models, and bases of its adapters. */
export function restrictToScope<Sent extends Heartbeat>(heartbeat: Sent, models: readonly string[] | null): Sent {
  if (models === null) return heartbeat;
  const isIn = ({ modelId }: { modelId: string }) => models.includes(modelId);
  const { claims, worker } = heartbeat;
  return {
    ...heartbeat,
    models: heartbeat.models.filter(isIn),
    ...(claims !== undefined && { claims: claims.filter((queue) => isIn({ modelId: modelOf(queue) })) }),
    ...(worker !== undefined && { worker: { ...worker, withoutReplica: worker.withoutReplica.filter(isIn) } }),
  };
}

function namesOf({ models, claims = [], worker }: Pick<Heartbeat, 'models' | 'claims' | 'worker'>): unknown[] {
  return [...models, ...claims, ...(worker?.withoutReplica ?? [])];
}

/** The name of a queue is modality and model, with a dot between. */
function modelOf(queue: string): string {
  return queue.slice(queue.indexOf('.') + 1);
}
