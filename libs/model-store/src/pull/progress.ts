/** Activity of a pull on one file. `convert` counts in the converter's own steps, the others in bytes. */
export type PullStage = 'download' | 'verify' | 'convert';

export interface PullProgress {
  modelId: string;
  /** Name to display: a file of the model, a package, or the converter's kind. */
  file: string;
  stage: PullStage;
  done: number;
  /** Null while unknown. */
  total: number | null;
}

/** A model whose pull has not begun. */
export interface ComingModel {
  modelId: string;
  /** As installed. */
  bytes?: number;
}

/** Displays the progress of pulls. Implementations never throw; `close` restores the terminal. */
export interface ProgressReporter {
  /** Called often; the same (modelId, file, stage) updates the same line. `done === total` ends it. */
  update(progress: PullProgress): void;
  /** Says which models are pulled after the present one; a terminal shows them below its bars. */
  coming?(models: readonly ComingModel[]): void;
  /** Writes a line of text, above the bars if there are any. */
  note(text: string): void;
  close(): void;
}

/** For callers without a display. */
export const silentReporter: ProgressReporter = {
  update: () => undefined,
  note: () => undefined,
  close: () => undefined,
};
