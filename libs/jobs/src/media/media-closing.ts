import { Injectable } from '#platform/injection';
import { Logger } from '#platform/logging';
import { ArtifactStore } from '#storage';
import { JobCatalog } from '../lifecycle/job-catalog.js';
import type { ClosedJob, ClosingStep, JobTransaction } from '../lifecycle/job-states.js';
import { MediaJobsRepository } from './media-jobs.repository.js';

/** Closes the media side of an async job: records the result, deletes the inputs. Ignores jobs of other modalities. */
@Injectable()
export class MediaClosing implements ClosingStep {
  constructor(
    private readonly jobs: MediaJobsRepository,
    private readonly artifacts: ArtifactStore,
    private readonly catalog: JobCatalog,
    private readonly logger: Logger,
  ) {}

  async close(transaction: JobTransaction, jobs: readonly ClosedJob[]): Promise<void> {
    for (const job of jobs) {
      if (this.isAsync(job)) await this.jobs.close(transaction, job);
    }
  }

  /** Runs after the transaction of `JobCloser`. What a crash leaves behind is deleted when it expires. */
  readonly afterwards = (job: ClosedJob): void => {
    if (!this.isAsync(job)) return;
    const { requestId } = job;
    void this.deleteInputs(requestId).catch((error: unknown) => {
      this.logger.warn({ requestId, error }, 'the inputs of a finished job stay until they expire');
    });
  };

  private async deleteInputs(requestId: string): Promise<void> {
    for (const id of await this.jobs.inputsOf(requestId)) await this.artifacts.delete(id);
  }

  private isAsync({ modality }: ClosedJob): boolean {
    return this.catalog.definitions.get(modality)?.isAsync === true;
  }
}
