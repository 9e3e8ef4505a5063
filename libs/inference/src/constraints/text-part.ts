import type { SchemaNote } from '#common/json-schema';
import type { JsonSchemaTexts, TextFormat, TextPart } from '../contract/output-region.js';
import { maxRelaxedKeywords } from '../contract/relaxed-keyword.js';
import { allCodePoints, jsonCharacters, utf8Of } from './code-points.js';
import { atPlace } from './compile-deadline.js';
import { Grammar, type GrammarNode } from './grammar.js';
import { JsonGrammar } from './json-grammar.js';
import { compileLark } from './lark.js';
import { compileForeignPattern, compileWholePattern } from './pattern.js';
import { type CompilePlace, ConstraintRefusal, type RefusedSubject } from './refusal.js';
import type { RelaxedKeywords } from './relaxed-keywords.js';
import { compileSchemaInto, type StartedGrammar } from './schema/schema-compiler.js';

/**
 * Compiles the texts of a part to a grammar. A generator that yields the place that it has reached, as `compileSchema`.
 * Throws `ConstraintRefusal`, with the field of the schema that it is about. `relaxed` takes in what it leaves out.
 */
export function* compilePart(part: TextPart, relaxed: RelaxedKeywords): Generator<CompilePlace, StartedGrammar> {
  const place: CompilePlace = { pointer: '', ...onlyField(part) };
  yield place;
  const grammar = new Grammar();
  const compiler = new PartCompiler(grammar, relaxed);
  const start = yield* compiler.compile(part);
  yield place;
  yield* atPlace(place, grammar.finish(grammar.epsilon));
  compiler.checkParts();
  if (!grammar.isProductive(start)) throw new ConstraintRefusal('no text is possible');
  return { grammar, start };
}

class PartCompiler {
  private readonly json: JsonGrammar;
  /** Equal schemas and formats of several places are compiled once: tools often share them. */
  private readonly formats = new Map<string, GrammarNode>();
  private readonly schemas = new Map<string, { node: GrammarNode; notes: readonly SchemaNote[] }>();
  /** Those that must match some text, with the refusal of those that match none. */
  private readonly checked: { node: GrammarNode; refusal: ConstraintRefusal }[] = [];

  constructor(
    private readonly grammar: Grammar,
    private readonly relaxed: RelaxedKeywords,
  ) {
    this.json = new JsonGrammar(grammar);
  }

  /** A schema without values may hide among others. */
  checkParts(): void {
    for (const { node, refusal } of this.checked) if (!this.grammar.isProductive(node)) throw refusal;
  }

  *compile(part: TextPart): Generator<CompilePlace, GrammarNode> {
    const { grammar } = this;
    switch (part.type) {
      case 'literal':
        return grammar.text(part.text);
      case 'space':
        return grammar.lexeme(this.json.around());
      case 'json-object':
        return this.json.anyObject();
      case 'json-schema':
        return yield* this.schema(part);
      case 'json-string':
        return yield* this.formatted(part.format, part.param);
      case 'regex':
        return grammar.lexeme(compileWholePattern(grammar.arena, part.pattern, utf8Of));
      case 'up-to':
        return this.upTo(part.text);
      case 'sequence':
        return grammar.inOrder(yield* this.all(part.parts));
      case 'choice':
        return grammar.anyOf(yield* this.all(part.parts));
      case 'repeat':
        return grammar.repeat(yield* this.compile(part.part), part.min, part.max ?? Infinity);
    }
  }

  private *all(parts: readonly TextPart[]): Generator<CompilePlace, GrammarNode[]> {
    const nodes: GrammarNode[] = [];
    for (const part of parts) nodes.push(yield* this.compile(part));
    return nodes;
  }

  private *schema({ schema, param, isStrict }: JsonSchemaTexts): Generator<CompilePlace, GrammarNode> {
    const key = `${isStrict ?? true} ${JSON.stringify(schema) ?? ''}`;
    const known = this.schemas.get(key);
    if (known !== undefined) {
      for (const note of known.notes) this.relaxed.add(param, note);
      return known.node;
    }
    const notes: SchemaNote[] = [];
    const onRelaxed = (note: SchemaNote): void => {
      if (notes.length < maxRelaxedKeywords) notes.push(note);
      this.relaxed.add(param, note);
    };
    try {
      const node = yield* inField({ param }, compileSchemaInto(this.grammar, schema, { isStrict, onRelaxed }));
      this.schemas.set(key, { node, notes });
      this.checked.push({ node, refusal: new ConstraintRefusal('no value satisfies the schema', '#', param) });
      return node;
    } catch (error) {
      throw error instanceof ConstraintRefusal ? error.in(param) : error;
    }
  }

  private *formatted({ syntax, definition }: TextFormat, param: string): Generator<CompilePlace, GrammarNode> {
    const { grammar } = this;
    const subject = subjectOf(syntax);
    yield { pointer: '', param, subject };
    const key = JSON.stringify([syntax, definition]);
    const known = this.formats.get(key);
    if (known !== undefined) return known;
    try {
      const text =
        syntax === 'lark'
          ? yield* inField({ param, subject }, compileLark(grammar, definition, jsonCharacters))
          : grammar.lexeme(compileForeignPattern(grammar.arena, definition, jsonCharacters));
      this.checked.push({ node: text, refusal: new ConstraintRefusal('no text matches it', '', param, subject) });
      const node = grammar.sequence(grammar.text('"'), text, grammar.text('"'));
      this.formats.set(key, node);
      return node;
    } catch (error) {
      throw error instanceof ConstraintRefusal ? error.in(param, subject) : error;
    }
  }

  private upTo(text: string): GrammarNode {
    const { arena } = this.grammar;
    const end = arena.text(text);
    const around = arena.concat(arena.anything, end, arena.anything);
    const before = arena.and(arena.star(utf8Of(arena, allCodePoints)), arena.not(around));
    return this.grammar.lexeme(arena.concat(before, end));
  }
}

/** A field of the request, and what it holds. */
type Field = Omit<CompilePlace, 'pointer'>;

/** The same work, its places in this field. */
export function* inField<Result>(field: Field, work: Generator<CompilePlace, Result>): Generator<CompilePlace, Result> {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    yield { ...field, ...step.value };
  }
}

/** The field that all of the part comes from; none where there are several. */
export function onlyField(part: TextPart): Field {
  const fields = fieldsOf(part);
  return new Set(fields.map(({ param }) => param)).size === 1 ? (fields[0] ?? {}) : {};
}

function fieldsOf(part: TextPart): Field[] {
  switch (part.type) {
    case 'json-schema':
      return [{ param: part.param }];
    case 'json-string':
      return [{ param: part.param, subject: subjectOf(part.format.syntax) }];
    case 'sequence':
    case 'choice':
      return part.parts.flatMap(fieldsOf);
    case 'repeat':
      return fieldsOf(part.part);
    default:
      return [];
  }
}

function subjectOf(syntax: TextFormat['syntax']): RefusedSubject {
  return syntax === 'lark' ? 'grammar' : 'pattern';
}
