import type { Grammar, GrammarNode } from '../grammar.js';
import type { JsonGrammar } from '../json-grammar.js';
import type { Regex } from '../regex.js';
import type { SchemaNode, SchemaObject } from './schema-document.js';

/** What the compilers of lists and objects need of the one of the whole schema. */
export interface SchemaContext {
  readonly grammar: Grammar;
  readonly json: JsonGrammar;
  /** The values that satisfy all of these schemas; any value where there is none. */
  valueOf(schemas: readonly SchemaNode[]): GrammarNode;
  /** The strings, with their quotes, that satisfy all of these schemas; null where other values do, too. */
  stringsOf(schemas: readonly SchemaNode[]): Generator<void, Regex | null>;
  /** A schema that accepts what the other one does not, and nothing else. */
  negationOf(schema: SchemaNode): SchemaNode;
  /** The place of a schema that the document does not have. */
  generated(pointer: string, schema: SchemaObject): SchemaNode;
  /** Strings, between their quotes, in which a pattern is found. */
  stringPattern(pattern: string, place: string): Regex;
}
