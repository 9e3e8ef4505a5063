/** How a model marks the reasoning in front of its answer. The texts may be special tokens or ordinary ones. */
export interface ReasoningFormat {
  /** Begins the reasoning block, e.g. `<think>`. */
  open: string;
  /** Ends it; the answer follows. */
  close: string;
  /** Marks an answer without reasoning, in models that mark those too. It is no part of the answer. */
  answer?: string;
}

/** The format of models whose files name none. */
export const defaultReasoning: Readonly<ReasoningFormat> = { open: '<think>', close: '</think>' };
