import type { TaskRequest } from '../contract/task.js';

/* What a family that makes music agrees on with who asks it. A piece is one task: its end depends on its beginning. */

/** Name of the task. */
export const composeTask = 'compose';

export interface ComposeInput {
  /** What is to be heard, in words. */
  prompt: string;
  /** Length of the piece, above 0; at most what the model was made for. */
  seconds: number;
  /** The same seed gives the same piece of the same model and build. */
  seed: number;
}

export interface ComposeOutput {
  /** Mono, in [-1, 1]. */
  samples: Float32Array;
  sampleRate: number;
}

export type ComposeRequest = TaskRequest<ComposeInput> & { task: typeof composeTask };
