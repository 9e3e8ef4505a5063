import { inBatches } from '#common';
import { Injectable } from '#platform/injection';
import { InstallationRepository } from './installation.repository.js';

/** Days that installations stay in the list after their end. */
const installationDays = 90;

const batchRows = 1_000;

/** Deletes installations that ended long ago, and closes those whose owners ended again and again. */
@Injectable()
export class DeleteOldInstallationsSweep {
  readonly name = 'delete-old-installations';

  constructor(private readonly repository: InstallationRepository) {}

  async run(): Promise<number> {
    const closed = await this.repository.failAbandoned();
    return closed + (await inBatches(batchRows, (max) => this.repository.deleteOld(installationDays, max)));
  }
}
