import type { TokenUsage } from '#common';
import type { TextGenerationEvent, TextGenerationRequest } from '../contract/text-generation.js';

/** Events of a run on their way to the caller; how it ends is the promise's news. */
export type RunEvent = Extract<TextGenerationEvent, { type: 'prompt-ready' | 'text-delta' | 'choice-finished' }>;

export interface RunOptions {
  /** Aborting ends the generation within two steps; the run then resolves with `cancelled: true`. */
  signal: AbortSignal;
  /** The events of one step, in order. Called synchronously; must not throw. */
  onEvents: (events: RunEvent[]) => void;
  /**
   * The host died after it had delivered text, and another one begins anew: all events so far are void. Called
   * synchronously; must not throw. Without it such a run rejects with `DEVICE_LOST`.
   */
  onRestart?: () => void;
}

export interface RunResult {
  cancelled: boolean;
  /** Counted as generated. */
  usage: TokenUsage;
}

/** Where a request for text is run. Rejects with a `PlatformError`. */
export interface TextGenerationRunner {
  run(request: TextGenerationRequest, options: RunOptions): Promise<RunResult>;
}
