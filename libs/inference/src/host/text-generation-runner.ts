import type { TokenUsage } from '#common';
import type { TextGenerationEvent, TextGenerationRequest } from '../contract/text-generation.js';

/** Events of a run forwarded to the caller; the promise reports how it ends. */
export type RunEvent = Extract<
  TextGenerationEvent,
  { type: 'constraint-ready' | 'prompt-ready' | 'prompt-scores' | 'text-delta' | 'sealed-delta' | 'choice-finished' }
>;

export interface RunOptions {
  /** Aborting ends the generation within two steps; the run then resolves with `cancelled: true`. */
  signal: AbortSignal;
  /** The events of one step, in order. Called synchronously; must not throw. */
  onEvents: (events: RunEvent[]) => void;
  /**
   * The host died after it had delivered text, and another host restarts the run: all events so far are void. Called
   * synchronously; must not throw. Without this callback the run rejects with `DEVICE_LOST`.
   */
  onRestart?: () => void;
}

export interface RunResult {
  cancelled: boolean;
  /** Tokens counted as generated. */
  usage: TokenUsage;
}

/** Runs text generation requests. Rejects with a `PlatformError`. */
export interface TextGenerationRunner {
  run(request: TextGenerationRequest, options: RunOptions): Promise<RunResult>;
}
