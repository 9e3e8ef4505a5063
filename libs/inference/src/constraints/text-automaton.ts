import type { Regex, RegexArena } from './regex.js';

/** What is known of a text so far; one object for equal states. */
export interface TextState {
  /** Whether the text so far is complete. */
  readonly isComplete: boolean;
  /** Whether any text may follow, so that tokens without bytes are as free as others. */
  readonly isFree?: boolean;
}

/** A name that a text has reached, of a member that the schema does not list. */
export interface OpenName {
  /** The object that the member belongs to: one and the same while it is open. */
  readonly object: object;
  /** What may follow of it, with its closing quote; with its opening one before that. */
  readonly regex: Regex;
  readonly arena: RegexArena;
  /** Whether there may be few such names, or few that begin alike. */
  readonly isListed: boolean;
}

/** The names that a text may be at or in. */
export interface OpenNames {
  readonly names: readonly OpenName[];
  /** Whether it may also be at something else. */
  readonly hasOthers: boolean;
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
  /** Whether objects of the language may have names that are not listed. */
  readonly hasOpenNames: boolean;
  /** Whether such an object may run out of them. */
  readonly hasListedNames: boolean;
  openNames(state: TextState): OpenNames;
  /** Whether it has lists in which no item comes twice, but for those of strings, which are names. */
  readonly hasDistinctItems: boolean;
  /** Those of such lists in whose items the state is, or before one. */
  itemLists(state: TextState): ReadonlySet<object>;
  /** The objects with such names that are open in the state. */
  openObjects(state: TextState): ReadonlySet<object>;
}
