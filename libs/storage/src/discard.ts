import type { ArtifactStore } from './artifact-store.js';

/**
 * Deletes artifacts that are no longer needed. Never rejects: what cannot be deleted now expires by itself, and no
 * response may fail because of it.
 */
export async function discard(artifacts: Pick<ArtifactStore, 'delete'>, ids: readonly string[]): Promise<void> {
  await Promise.allSettled(ids.map((id) => artifacts.delete(id)));
}
