import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { DatabaseConfig } from '#platform/config';
import { ArtifactStore } from '../artifact-store.js';
import { createArtifactStore } from '../create-store.js';
import { DownloadLinks } from '../download-links.js';

/** The store of inputs and results of media jobs, and the links to them. */
@Module({
  providers: [
    {
      provide: ArtifactStore,
      inject: [DatabaseConfig],
      useFactory: ({ storage }: DatabaseConfig) => createArtifactStore(storage),
    },
    {
      provide: DownloadLinks,
      inject: [DatabaseConfig],
      useFactory: ({ secretKeys }: DatabaseConfig) => new DownloadLinks(secretKeys),
    },
  ],
  exports: [ArtifactStore, DownloadLinks],
})
export class StorageModule implements OnApplicationShutdown {
  constructor(private readonly artifacts: ArtifactStore) {}

  async onApplicationShutdown(): Promise<void> {
    await this.artifacts.close();
  }
}
