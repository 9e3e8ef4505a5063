/** What a pull is doing to one file. `convert` counts in the converter's own steps, the others in bytes. */
export type PullStage = 'download' | 'verify' | 'convert';

export interface PullProgress {
  modelId: string;
  /** Name to show: a file of the model, a package, or the converter's kind. */
  file: string;
  stage: PullStage;
  done: number;
  /** Null while unknown. */
  total: number | null;
}

/** Shows how pulls go on. Implementations never throw; `close` gives the terminal back. */
export interface ProgressReporter {
  /** Called often; the same (modelId, file, stage) moves the same line. `done === total` ends it. */
  update(progress: PullProgress): void;
  /** One line of text, above the bars where there are any. */
  note(text: string): void;
  close(): void;
}

/** For callers that show nothing. */
export const silentReporter: ProgressReporter = {
  update: () => undefined,
  note: () => undefined,
  close: () => undefined,
};
