/** The texts that a whole pattern, as ECMA-262 and Rust both read it, or the rule `start` of a Lark grammar, matches. */
export interface TextFormat {
  syntax: 'regex' | 'lark';
  definition: string;
}

/** The JSON texts that a JSON Schema accepts, in any draft. */
export interface JsonSchemaTexts {
  type: 'json-schema';
  schema: unknown;
  /** The field that holds it, for refusals. */
  param: string;
  /** Whether keywords that no grammar follows are refused; otherwise they are left out. Absent: they are refused. */
  isStrict?: boolean;
}

/** A set of texts that some part of a choice must belong to. */
export type TextPart =
  | { type: 'literal'; text: string }
  | JsonSchemaTexts
  /** A JSON string whose text is of the format. `param` names the field that holds it, for refusals. */
  | { type: 'json-string'; format: TextFormat; param: string }
  /** Any JSON object. */
  | { type: 'json-object' }
  /** A text that the whole ECMA-262 pattern matches. */
  | { type: 'regex'; pattern: string }
  /** Any text up to the first `text`, and that text. */
  | { type: 'up-to'; text: string }
  /** None, one blank or one new line. */
  | { type: 'space' }
  | { type: 'sequence'; parts: TextPart[] }
  | { type: 'choice'; parts: TextPart[] }
  /** `max` absent: any number of times. The part must not match the empty text. */
  | { type: 'repeat'; part: TextPart; min: number; max?: number };

/** Ends a free region: what follows `text` belongs to the region `next`. */
export interface RegionExit {
  text: string;
  /** Index of a region. */
  next: number;
  /** Only where nothing but white space precedes it in the region. Default: anywhere. */
  atStart?: boolean;
  /** Text of the region `next` that `text` stands for: what follows goes on behind it. Default: none. */
  entered?: string;
}

/** Any text, up to the first exit. No mask is applied unless a token could run over an exit and break what follows. */
export interface FreeRegion {
  type: 'free';
  exits: RegionExit[];
  /** Whether the choice may end inside of it. */
  mayEnd: boolean;
}

/**
 * A text of one of the branches, as long a one as the output makes it. Behind it comes the region `next` of the branch,
 * or the end of the choice where that is null.
 */
export interface BoundRegion {
  type: 'bound';
  branches: { text: TextPart; next: number | null }[];
}

/** A stretch of the text of a choice. A list of regions begins with the first one. */
export type OutputRegion = FreeRegion | BoundRegion;
