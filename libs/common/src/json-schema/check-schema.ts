import { isSchemaObject, modernSchema, type SchemaObject, writtenKeyword } from './schema-forms.js';
import { examineKeywords, type KeywordFinding, withoutKeywords } from './schema-keywords.js';
import { SchemaNegations } from './schema-negation.js';
import { pointerStep, SchemaReferences } from './schema-references.js';

/** A place of a schema and what is to be said of it. */
export interface SchemaNote {
  /** JSON pointer into the schema. */
  pointer: string;
  reason: string;
}

/** What a schema says that the texts of a model do not follow. */
export interface CheckedSchema {
  /** The first reason to refuse the schema; null without any. */
  refusal: SchemaNote | null;
  /** Keywords without a meaning here, by their pointers. */
  ignored: string[];
  /** Keywords that are left out of the grammar; none where `isStrict`. */
  relaxed: SchemaNote[];
}

/** Keywords whose value is a schema, a list of schemas and an object of schemas. */
const single = [
  'additionalProperties',
  'propertyNames',
  'items',
  'contains',
  'not',
  'if',
  'then',
  'else',
  'unevaluatedItems',
  'unevaluatedProperties',
] as const;
const lists = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const;
const named = ['properties', 'patternProperties', 'dependentSchemas'] as const;

/**
 * Looks at every schema that the root leads to, each once: linear in the length of the document. What `isStrict` refuses
 * is left out of the grammar otherwise.
 */
export function checkSchema(schema: unknown, { isStrict }: { isStrict: boolean }): CheckedSchema {
  const walk = new SchemaWalk(schema, isStrict);
  walk.run();
  return walk.checked;
}

class SchemaWalk {
  readonly checked: CheckedSchema = { refusal: null, ignored: [], relaxed: [] };
  private readonly references: SchemaReferences;
  private readonly negations: SchemaNegations;
  private readonly seen = new Set<unknown>();
  private readonly open: { pointer: string; value: unknown }[] = [];

  constructor(
    private readonly schema: unknown,
    private readonly isStrict: boolean,
  ) {
    this.references = new SchemaReferences(schema);
    this.negations = new SchemaNegations(this.references);
  }

  run(): void {
    for (const _ of this.references.read(() => false));
    this.open.push({ pointer: '', value: this.schema });
    for (let place = this.open.pop(); place !== undefined && this.checked.refusal === null; place = this.open.pop()) {
      const { pointer, value } = place;
      if (typeof value === 'boolean' || this.seen.has(value)) continue;
      this.seen.add(value);
      if (isSchemaObject(value)) this.visit(pointer, value);
      else this.refuse(pointer, 'must be a schema: an object or a boolean');
    }
  }

  private refuse(pointer: string, reason: string): void {
    this.checked.refusal ??= { pointer, reason };
  }

  private visit(pointer: string, written: SchemaObject): void {
    const schema = modernSchema(written);
    const at = ({ keyword, reason }: KeywordFinding): SchemaNote => ({
      pointer: `${pointer}${pointerStep(writtenKeyword(written, keyword))}`,
      reason,
    });
    const { malformed, uncovered, ignored } = examineKeywords(schema, this.negations);
    for (const finding of malformed) this.refuse(at(finding).pointer, finding.reason);
    if (malformed.length > 0) return;
    for (const keyword of ignored) this.checked.ignored.push(`${pointer}${pointerStep(keyword)}`);
    for (const finding of uncovered) this.leaveOut(at(finding));
    this.follow(pointer, written);
    this.addChildren(pointer, { written, schema: withoutKeywords(schema, uncovered) });
  }

  private leaveOut(note: SchemaNote): void {
    if (this.isStrict) this.refuse(note.pointer, note.reason);
    else this.checked.relaxed.push(note);
  }

  private follow(pointer: string, written: SchemaObject): void {
    const { $ref: reference } = written;
    if (typeof reference !== 'string') return;
    const place = `${pointer}/$ref`;
    const found = this.references.resolve(reference, written);
    if (found === 'outside') this.leaveOut({ pointer: place, reason: outsideReference });
    else if (typeof found === 'string') this.refuse(place, referenceProblem(found, reference));
    else this.open.push(found);
  }

  /** The last one is looked at first, so that findings come in the order of the document. */
  private addChildren(pointer: string, { written, schema }: { written: SchemaObject; schema: SchemaObject }): void {
    const children: typeof this.open = [];
    const add = (keyword: string, value: unknown, ...steps: (string | number)[]): void => {
      const path = [writtenKeyword(written, keyword), ...steps].map(pointerStep).join('');
      children.push({ pointer: `${pointer}${path}`, value });
    };
    for (const keyword of single) if (schema[keyword] !== undefined) add(keyword, schema[keyword]);
    for (const keyword of lists) {
      const value = schema[keyword];
      if (Array.isArray(value)) for (const [index, item] of value.entries()) add(keyword, item, index);
    }
    for (const keyword of named) {
      const value = schema[keyword];
      if (isSchemaObject(value)) for (const [name, item] of Object.entries(value)) add(keyword, item, name);
    }
    for (const child of children.reverse()) this.open.push(child);
  }
}

export const outsideReference = 'only references within the schema are followed';

/** Why a reference that leads to no schema of the document is refused. */
export function referenceProblem(found: 'nowhere' | 'malformed', reference: string): string {
  const isAnchor = !reference.includes('/');
  if (found === 'malformed') return 'is not a valid URI reference';
  if (isAnchor) return `there is no $anchor ${reference.slice(reference.indexOf('#') + 1).slice(0, 100)}`;
  return `${reference.slice(0, 200)} names nothing in the schema`;
}
