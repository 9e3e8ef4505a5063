/** What is known of a text so far; one object for equal states. */
export interface TextState {
  /** Whether the text so far is complete. */
  readonly isComplete: boolean;
  /** Whether any text may follow, so that tokens without bytes are as free as others. */
  readonly isFree?: boolean;
}

/** Decides byte by byte which texts belong to a language. States are made when a text reaches them. */
export interface TextAutomaton {
  readonly start: TextState;
  /** A measure of the memory it holds. */
  readonly size: number;
  /** The state behind one more byte; null where no text of the language goes on with it. */
  next(state: TextState, byte: number): TextState | null;
  /** A state that goes on with the same texts shorter than `limit`; many states have it in common. */
  clip(state: TextState, limit: number): TextState;
}
