import type { ArtifactStore } from '#storage';
import type { Sweep } from './sweep.js';

/** Pause between two looks, in ms: what has expired is not given out any more, only its room is still taken. */
const everyMs = 60_000;

/** Deletes the inputs and results of media jobs whose time is over. */
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
