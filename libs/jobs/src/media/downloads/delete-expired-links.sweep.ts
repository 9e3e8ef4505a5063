import { inBatches } from '#common';
import type { Sweep } from '../../recovery/sweep.js';
import type { DownloadLinksRepository } from './download-links.repository.js';

const batch = 1_000;

/** Drops the rows of download links whose time is over. */
export class DeleteExpiredLinksSweep implements Sweep {
  readonly name = 'forget-links';

  constructor(private readonly links: DownloadLinksRepository) {}

  run(): Promise<number> {
    return inBatches(batch, (max) => this.links.forgetExpired(max));
  }
}
