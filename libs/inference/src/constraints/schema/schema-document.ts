import {
  examineKeywords,
  excludedBy,
  forbidsEverything,
  hasCondition,
  isSchemaObject,
  modernSchema,
  outsideReference,
  pointerStep,
  referenceProblem,
  type SchemaNote,
  type SchemaObject,
  SchemaNegations,
  SchemaReferences,
  withoutKeywords,
  writtenKeyword,
} from '#common/json-schema';
import { isSliceOver, tookTooLong } from '../compile-deadline.js';
import { ConstraintRefusal } from '../refusal.js';

export { isSchemaObject as isObject, pointerStep, type SchemaObject };

/** A schema or subschema at one place of the document. One object per place. */
export interface SchemaNode {
  readonly id: number;
  readonly pointer: string;
  /** As sent. */
  readonly written: unknown;
  /** In the words of draft 2020-12, without the keywords that are left out. */
  readonly value: SchemaObject | boolean;
}

/** Alternatives to one keyword that a schema has which is not strict: an answer counts for more there than each keyword. */
const maxLenientAlternatives = 4;

/** How a schema is read. */
export interface SchemaOptions {
  /** Whether what the grammar cannot follow is refused; otherwise it is left out. Default: it is refused. */
  isStrict?: boolean;
  /** Called for each keyword that is left out although `checkSchema` of the same schema does not name it. */
  onRelaxed?: (note: SchemaNote) => void;
}

/** A schema as sent, with its references. Only references within the document are followed. */
export class SchemaDocument {
  readonly isStrict: boolean;
  private readonly onRelaxed: (note: SchemaNote) => void;
  /** By the schema as written: a document has each object once, and its pointers may be as long as all of it. */
  private readonly nodes = new Map<unknown, SchemaNode>();
  private readonly references: SchemaReferences;
  private readonly negations: SchemaNegations;

  constructor(
    private readonly schema: unknown,
    { isStrict = true, onRelaxed = () => undefined }: SchemaOptions = {},
  ) {
    this.isStrict = isStrict;
    this.onRelaxed = onRelaxed;
    this.references = new SchemaReferences(schema);
    this.negations = new SchemaNegations(this.references);
  }

  /** Only behind `readAnchors`. */
  get root(): SchemaNode {
    return this.at('', this.schema);
  }

  /** Finds what `$ref` may name. Yields when its slice is over. */
  *readAnchors(): Generator<void, void> {
    yield* this.references.read(isSliceOver);
  }

  /** Refuses what no grammar here follows; leaves it out of a schema that is not strict. */
  leaveOut(reason: string, pointer: string): void {
    if (this.isStrict) throw new ConstraintRefusal(reason, pointer);
    this.onRelaxed({ pointer, reason });
  }

  /**
   * As `leaveOut`, of something that was refused. Rethrows what is no refusal of a construct. `whole`: the place of the
   * schema that is left out as a whole for it.
   */
  leaveOutRefused(error: unknown, whole?: string): void {
    if (this.isStrict || !(error instanceof ConstraintRefusal) || tookTooLong(error)) throw error;
    const isPart = whole !== undefined && whole !== error.pointer;
    const reason = isPart ? `${error.reason}; all that ${whole} says is left out` : error.reason;
    this.onRelaxed({ pointer: error.pointer, reason });
  }

  /** As `leaveOut`, of what `checkSchema` names before anything is compiled. */
  private leaveOutKnown(reason: string, pointer: string): void {
    if (this.isStrict) throw new ConstraintRefusal(reason, pointer);
  }

  /** The subschema behind a keyword of a node and further steps. */
  child(node: SchemaNode, keyword: string, ...steps: (string | number)[]): SchemaNode {
    let value: unknown = (node.value as SchemaObject)[keyword];
    for (const step of steps) value = (value as Record<string, unknown>)[step];
    const path = [isSchemaObject(node.written) ? writtenKeyword(node.written, keyword) : keyword, ...steps];
    return this.at(`${node.pointer}${path.map(pointerStep).join('')}`, value);
  }

  /** What `$ref` of a node names; null where it has none, or where it is left out. */
  referenced(node: SchemaNode): SchemaNode | null {
    const reference = keywordOf(node, '$ref');
    if (typeof reference !== 'string') return null;
    const place = `${node.pointer}/$ref`;
    const found = this.references.resolve(reference, node.written);
    if (found === 'outside') {
      this.leaveOutKnown(outsideReference, place);
      return null;
    }
    if (typeof found === 'string') throw new ConstraintRefusal(referenceProblem(found, reference), place);
    return this.at(found.pointer, found.value);
  }

  /** A schema that stands nowhere in the document and accepts everything or nothing. */
  constant(value: boolean): SchemaNode {
    return this.at(`!${value}`, value);
  }

  /** What a schema does not accept: schemas of which each says so for some of its values. */
  negated({ pointer, written }: SchemaNode): { alternatives: SchemaNode[]; isExact: boolean } {
    const { alternatives, isExact } = this.negations.of(written);
    return { alternatives: alternatives.map((schema) => this.at(pointer, schema)), isExact };
  }

  /** As `negated`, as one schema. */
  negation({ written }: SchemaNode): SchemaObject {
    const { alternatives } = this.negations.of(written);
    return alternatives.length > 0 ? { anyOf: alternatives } : { not: {} };
  }

  /** A schema that was generated for what stands at `pointer`. */
  generated(pointer: string, schema: SchemaObject): SchemaNode {
    return this.at(pointer, schema);
  }

  /** `true` and `false` are the same wherever they stand. */
  private at(pointer: string, written: unknown): SchemaNode {
    const known = this.nodes.get(written);
    if (known !== undefined) return known;
    if (typeof written !== 'boolean' && !isSchemaObject(written)) {
      throw new ConstraintRefusal('must be a schema: an object or a boolean', pointer || '#');
    }
    const value = typeof written === 'boolean' ? written : this.read(pointer, written);
    const node: SchemaNode = { id: this.nodes.size, pointer, written, value };
    this.nodes.set(written, node);
    return node;
  }

  private read(pointer: string, written: SchemaObject): SchemaObject | boolean {
    if (forbidsEverything(written.not)) return false;
    const schema = modernSchema(written);
    const { malformed, uncovered } = examineKeywords(schema, this.negations);
    const place = (keyword: string): string => `${pointer}${pointerStep(writtenKeyword(written, keyword))}`;
    const [first] = malformed;
    if (first !== undefined) throw new ConstraintRefusal(first.reason, place(first.keyword));
    for (const { keyword, reason } of uncovered) this.leaveOutKnown(reason, place(keyword));
    const covered = this.withDependencies(withoutKeywords(schema, uncovered), place);
    return this.withCondition(this.withNegation(covered, place), place);
  }

  /** What must not hold in other words, unless it is of types, values or a pattern. */
  private withNegation(schema: SchemaObject, place: (keyword: string) => string): SchemaObject {
    if (schema.not === undefined || excludedBy(schema.not) !== null) return schema;
    // Known by its own place before parts of it are met in the rule.
    this.at(place('not'), schema.not);
    const { not, ...rest } = schema;
    const { alternatives } = this.negations.of(not);
    if (this.isTooMuch(alternatives, place('not'))) return rest;
    return withRules(rest, [anyOf(alternatives)]);
  }

  /** Leaves out of a schema that is not strict what multiplies with all that holds beside it. */
  private isTooMuch({ length }: readonly SchemaObject[], pointer: string): boolean {
    if (this.isStrict || length <= maxLenientAlternatives) return false;
    this.leaveOut('has too many alternatives', pointer);
    return true;
  }

  /** A condition in other words: it and what follows from it hold, or it does not and the rest holds. */
  private withCondition(schema: SchemaObject, place: (keyword: string) => string): SchemaObject {
    if (!hasCondition(schema)) return schema;
    const { if: condition, then = true, else: otherwise = true } = schema;
    // Known by their own places before they are met in the rule.
    for (const keyword of ['if', 'then', 'else']) {
      if (schema[keyword] !== undefined) this.at(place(keyword), schema[keyword]);
    }
    const { alternatives } = this.negations.of(condition);
    if (this.isTooMuch(alternatives, place('if'))) return schema;
    const others = alternatives.map((other) => ({ allOf: [other, otherwise] }));
    return withRules(schema, [{ anyOf: [{ allOf: [condition, then] }, ...others] }]);
  }

  /** A dependency in other words: the property is absent, or it is there and the rest holds. */
  private withDependencies(schema: SchemaObject, place: (keyword: string) => string): SchemaObject {
    const { dependentRequired, dependentSchemas } = schema;
    const rules: SchemaObject[] = [];
    const add = (name: string, present: SchemaObject): void => {
      rules.push({ anyOf: [{ properties: { [name]: false } }, { required: [name], ...present }] });
    };
    for (const [name, needed] of Object.entries(isSchemaObject(dependentRequired) ? dependentRequired : {})) {
      if (!Array.isArray(needed)) throw new ConstraintRefusal('must name properties', place('dependentRequired'));
      add(name, { required: [name, ...needed.map(String)] });
    }
    for (const [name, needed] of Object.entries(isSchemaObject(dependentSchemas) ? dependentSchemas : {})) {
      // Known by its own place before it is met in the rule.
      this.at(`${place('dependentSchemas')}${pointerStep(name)}`, needed);
      add(name, { allOf: [needed] });
    }
    return withRules(schema, rules);
  }
}

function anyOf(alternatives: readonly SchemaObject[]): SchemaObject | boolean {
  return alternatives.length > 0 && { anyOf: alternatives };
}

/** The schema with more that must hold. */
function withRules(schema: SchemaObject, rules: readonly unknown[]): SchemaObject {
  if (rules.length === 0) return schema;
  const { allOf } = schema;
  return { ...schema, allOf: [...(Array.isArray(allOf) ? (allOf as unknown[]) : []), ...rules] };
}

export function keywordOf(node: SchemaNode, keyword: string): unknown {
  return typeof node.value === 'boolean' ? undefined : node.value[keyword];
}
