import { Injectable, Optional } from '#platform/injection';
import { RunInterval } from '#platform/timed-call';
import { ArtifactStore } from '#storage';
import type { Sweep } from './sweep.js';

/** Pause between two runs, in ms: expired artifacts are no longer served and only take up space. */
const everyMs = 60_000;

/** Deletes expired inputs and results of media jobs. */
@Injectable()
export class DeleteExpiredArtifactsSweep implements Sweep {
  readonly name = 'delete-expired-artifacts';
  private readonly interval: RunInterval;

  constructor(
    private readonly artifacts: ArtifactStore,
    @Optional() intervalMs = everyMs,
  ) {
    this.interval = new RunInterval(intervalMs);
  }

  async run(): Promise<number> {
    if (!this.interval.isDue) return 0;
    this.interval.restart();
    return await this.artifacts.sweep();
  }
}
