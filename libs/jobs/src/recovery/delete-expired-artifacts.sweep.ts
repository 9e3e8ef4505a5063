import type { ArtifactStore } from '#storage';
import type { Sweep } from './sweep.js';

/** Pause between two runs, in ms: expired artifacts are not served any more and only take up space. */
const everyMs = 60_000;

/** Deletes expired inputs and results of media jobs. */
export class DeleteExpiredArtifactsSweep implements Sweep {
  readonly name = 'delete-expired-artifacts';
  private nextMs = -Infinity;

  constructor(
    private readonly artifacts: ArtifactStore,
    private readonly intervalMs = everyMs,
  ) {}

  async run(): Promise<number> {
    if (performance.now() < this.nextMs) return 0;
    this.nextMs = performance.now() + this.intervalMs;
    return await this.artifacts.sweep();
  }
}
