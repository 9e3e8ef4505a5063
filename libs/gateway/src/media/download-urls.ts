import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ApiConfig } from '#platform/config';
import { ArtifactStore, DownloadLinks } from '#storage';

/** Links to the results of async jobs. */
@Injectable()
export class DownloadUrls {
  constructor(
    private readonly links: DownloadLinks,
    private readonly artifacts: ArtifactStore,
    private readonly config: ApiConfig,
  ) {}

  /**
   * Returns the absolute link to an artifact, as the sender of `request` reaches this service. The link needs no
   * credentials.
   */
  of(artifactId: string, { protocol, host }: FastifyRequest): string {
    return `${this.config.publicUrl ?? `${protocol}://${host}`}/api/v1/media/${this.links.tokenFor(artifactId)}`;
  }

  /**
   * Reserves an id until the deadline of its job plus the retention of results, since the job's end is not known yet.
   */
  reserveResult(modelId: string): string {
    const lifetimeMs = this.config.mediaDeadlineMs + this.config.storageLifetimeMs;
    return this.artifacts.ofModel(modelId).reserve('result', lifetimeMs);
  }
}
