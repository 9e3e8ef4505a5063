import { beforeAll, describe, expect, it } from 'vitest';
import { publishedDocument } from './published-document.js';

/* Rules that hold for every operation of the published document. */

interface Schema {
  $ref?: string;
  enum?: unknown[];
  required?: string[];
  properties?: Record<string, Schema>;
  [keyword: string]: unknown;
}

interface Media {
  schema?: Schema;
  examples?: Record<string, unknown>;
}

interface Parameter {
  in: string;
  name: string;
  required?: boolean;
  example?: unknown;
  schema?: Schema;
}

interface Operation {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  deprecated?: boolean;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { content?: Record<string, Media> }>;
}

interface Document {
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

let document: Document;
let operations: [name: string, operation: Operation][];

beforeAll(async () => {
  document = (await publishedDocument()) as unknown as Document;
  operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );
});

/** The names of the operations for which `holds` is false. */
function without(holds: (operation: Operation, name: string) => boolean): string[] {
  return operations.filter(([name, operation]) => !holds(operation, name)).map(([name]) => name);
}

const isSentence = (text: string | undefined) => /^[A-Z0-9`].+[.)]$/s.test(text ?? '');

/** Calls `visit` with every schema that a request can reach. */
function eachRequestSchema(visit: (schema: Schema, place: string) => void): void {
  const seen = new Set<string>();
  const walk = (value: unknown, place: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const schema = value as Schema;
    const name = schema.$ref?.split('/').at(-1);
    if (name !== undefined) {
      if (seen.has(name)) return;
      seen.add(name);
      return walk(document.components.schemas[name], name);
    }
    visit(schema, place);
    for (const [key, member] of Object.entries(schema)) if (key !== 'example') walk(member, `${place}.${key}`);
  };
  for (const [name, { requestBody }] of operations) {
    for (const { schema } of Object.values(requestBody?.content ?? {})) walk(schema, name);
  }
}

describe('every operation of the published document', () => {
  it('has an id of its own, a summary and a description', () => {
    expect(without(({ summary }) => (summary ?? '') !== '')).toEqual([]);
    expect(without(({ description }) => isSentence(description))).toEqual([]);
    const ids = operations.map(([, { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(operations.length);
  });

  it('belongs to groups that are described, of which Chat is the first', () => {
    const described = document.tags.map(({ name }) => name);
    expect(without(({ tags = [] }) => tags.length > 0 && tags.every((tag) => described.includes(tag)))).toEqual([]);
    expect(document.tags.filter(({ description }) => !isSentence(description))).toEqual([]);
    const used = new Set(operations.flatMap(([, { tags = [] }]) => tags));
    expect(described.filter((tag) => !used.has(tag))).toEqual([]);
    expect([described[0], operations[0]?.[0]]).toEqual(['Chat', 'POST /chat/completions']);
  });

  it('has an example of its body, and of each parameter that it requires', () => {
    const hasExamples = ({ examples }: Media): boolean => Object.keys(examples ?? {}).length > 0;
    expect(without(({ requestBody }) => Object.values(requestBody?.content ?? {}).every(hasExamples))).toEqual([]);
    const isShown = ({ required, example, schema }: Parameter): boolean =>
      required !== true || (example ?? schema?.example) !== undefined;
    expect(without(({ parameters = [] }) => parameters.every(isShown))).toEqual([]);
  });

  it('tells of limits, and of the balance where it is charged', () => {
    expect(without(({ responses, deprecated }) => '429' in responses || deprecated === true)).toEqual([]);
    const isBilled = ({ parameters = [] }: Operation): boolean =>
      parameters.some(({ name }) => name === 'Idempotency-Key');
    expect(operations.filter(([, operation]) => isBilled(operation)).length).toBeGreaterThan(10);
    expect(without((operation) => !isBilled(operation) || '402' in operation.responses)).toEqual([]);
  });

  it('shows the stream of events beside the JSON', () => {
    const streams = operations.filter(([, { responses }]) => responses['200']?.content?.['text/event-stream']);
    expect(streams.map(([name]) => name)).toEqual(
      expect.arrayContaining(['POST /chat/completions', 'POST /completions', 'POST /responses']),
    );
    for (const [name, { responses }] of streams) {
      expect(Object.keys(responses['200']?.content ?? {}), name).toContain('application/json');
    }
  });
});

describe('the requests of the published document', () => {
  it('have no member with a default, which generators would require', () => {
    const places: string[] = [];
    eachRequestSchema((schema, place) => {
      if ('default' in schema && !place.endsWith('.properties')) places.push(place);
    });
    expect(places).toEqual([]);
  });

  it('have no enumeration of which two members differ only in case', () => {
    const places: string[] = [];
    eachRequestSchema(({ enum: values = [] }, place) => {
      const names = values.map((value) => String(value).toLowerCase());
      if (new Set(names).size < names.length) places.push(place);
    });
    expect(places).toEqual([]);
  });
});

describe('the schemas of the published document', () => {
  it('say null beside a reference without a type, which generators would read as never null', () => {
    const places: string[] = [];
    let nullable = 0;
    const walk = (value: unknown, place: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const schema = value as Schema;
      if (schema.nullable === true && schema.allOf) nullable += 1;
      if (schema.nullable === true && schema.allOf && 'type' in schema) places.push(place);
      for (const [key, member] of Object.entries(schema)) walk(member, `${place}.${key}`);
    };
    walk(document, '');
    expect(places).toEqual([]);
    expect(nullable).toBeGreaterThan(5);
  });
});
