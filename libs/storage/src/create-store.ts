import { join } from 'node:path';
import { ArtifactClerk, defaultLifetimeMs } from './artifact-clerk.js';
import type { ArtifactStore } from './artifact-store.js';
import { FolderStore } from './folder.store.js';

export interface StorageSettings {
  /** Absolute path of the home of this installation. */
  home: string;
  /** How long artifacts live when their owner says nothing, in ms. Default: a day. */
  lifetimeMs?: number;
}

/** The store that the configuration names: the folder `artifacts` of the home. */
export function createArtifactStore({ home, lifetimeMs = defaultLifetimeMs }: StorageSettings): ArtifactStore {
  return new FolderStore(join(home, 'artifacts'), new ArtifactClerk(lifetimeMs));
}
