import type { JsonSchemaTexts, OutputRegion } from './output-region.js';

/** What every text of a choice must look like. `param` names the field of the caller's request, for refusals. */
export type OutputConstraint =
  /** Any JSON object. */
  | { type: 'json-object'; param: string }
  /** A JSON text that this JSON Schema accepts; see `JsonSchemaTexts`. */
  | JsonSchemaTexts
  /** A text that the whole ECMA-262 pattern matches. */
  | { type: 'regex'; pattern: string; param: string }
  /** A text that the rule `root` of this grammar in EBNF matches; see `compileEbnf`. */
  | { type: 'grammar'; grammar: string; param: string }
  /** Stretches of free text and of texts of a grammar, in turn. */
  | { type: 'regions'; regions: OutputRegion[]; param: string };
