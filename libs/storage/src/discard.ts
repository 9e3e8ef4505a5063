import type { ArtifactStore } from './artifact-store.js';

/** Deletes what nobody needs any more. Never rejects: what cannot be deleted now expires by itself, and no answer may fail of it. */
export async function discard(artifacts: Pick<ArtifactStore, 'delete'>, ids: readonly string[]): Promise<void> {
  await Promise.allSettled(ids.map((id) => artifacts.delete(id)));
}
