/** A keyword that the compiler left out of a schema that is not strict. */
export interface RelaxedKeyword {
  /** Field of the caller's request that holds the schema; null: the one of the whole constraint. */
  param: string | null;
  /** JSON pointer into the schema. */
  pointer: string;
  reason: string;
}

/** Keywords that are named of one constraint, and characters of their pointers. */
export const maxRelaxedKeywords = 64;
export const longestPointer = 200;
