import { inBatches } from '#common';
import { Injectable } from '#platform/injection';
import type { Sweep } from '../../recovery/sweep.js';
import { DownloadLinksRepository } from './download-links.repository.js';

const batch = 1_000;

/** Deletes the rows of expired download links. */
@Injectable()
export class DeleteExpiredLinksSweep implements Sweep {
  readonly name = 'delete-expired-links';

  constructor(private readonly links: DownloadLinksRepository) {}

  run(): Promise<number> {
    return inBatches(batch, (max) => this.links.forgetExpired(max));
  }
}
