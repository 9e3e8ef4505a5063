import type { Logger } from '#platform/logging';
import type { ArtifactStore } from '#storage';
import type { ClosedJob, ClosingStep, JobTransaction } from '../lifecycle/job-states.js';
import type { MediaJobsRepository } from './media-jobs.repository.js';

export interface MediaClosingOptions {
  jobs: MediaJobsRepository;
  artifacts: ArtifactStore;
  /** Async modalities; jobs of others are ignored. */
  modalities: ReadonlySet<string>;
  logger: Logger;
}

/** Closes the media side of an async job: records the result, deletes the inputs. */
export class MediaClosing implements ClosingStep {
  constructor(private readonly options: MediaClosingOptions) {}

  async close(transaction: JobTransaction, jobs: readonly ClosedJob[]): Promise<void> {
    for (const job of jobs) {
      if (this.options.modalities.has(job.modality)) await this.options.jobs.close(transaction, job);
    }
  }

  /** For `JobCloser`, after the transaction: what a crash leaves behind is deleted when it expires. */
  readonly afterwards = ({ modality, requestId }: ClosedJob): void => {
    const { modalities, logger } = this.options;
    if (!modalities.has(modality)) return;
    void this.deleteInputs(requestId).catch((error: unknown) => {
      logger.warn({ requestId, error }, 'the inputs of a finished job stay until they expire');
    });
  };

  private async deleteInputs(requestId: string): Promise<void> {
    const { jobs, artifacts } = this.options;
    for (const id of await jobs.inputsOf(requestId)) await artifacts.delete(id);
  }
}
