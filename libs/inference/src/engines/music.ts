import type { TaskRequest } from '../contract/task.js';

/* Input and output types of the music task. A clip is one task, because its end depends on its beginning. */

/** Name of the task. */
export const composeTask = 'compose';

export interface ComposeInput {
  /** Description of the music. */
  prompt: string;
  /** Duration of the clip, above 0 and at most the model's limit. */
  seconds: number;
  /** The same seed gives the same clip with the same model and build. */
  seed: number;
}

export interface ComposeOutput {
  /** Mono, in [-1, 1]. */
  samples: Float32Array;
  sampleRate: number;
}

export type ComposeRequest = TaskRequest<ComposeInput> & { task: typeof composeTask };
