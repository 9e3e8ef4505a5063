import type { ConstraintCompiler } from '#inference';

type OutputConstraint = Parameters<ConstraintCompiler['compile']>[0];
type TextPart = Extract<
  Extract<OutputConstraint, { type: 'regions' }>['regions'][number],
  { type: 'bound' }
>['branches'][number]['text'];

/** A constraint that is small to send and may be large to work on. */
export interface HostileConstraint {
  name: string;
  constraint: OutputConstraint;
}

function schemaOf(name: string, schema: unknown): HostileConstraint {
  return { name, constraint: { type: 'json-schema', schema, param: 'schema' } };
}

function grammarOf(name: string, grammar: string): HostileConstraint {
  return { name: `EBNF: ${name}`, constraint: { type: 'grammar', grammar, param: 'grammar' } };
}

function patternOf(name: string, pattern: string): HostileConstraint {
  return { name: `pattern: ${name}`, constraint: { type: 'regex', pattern, param: 'pattern' } };
}

/** The input of a tool, as tools with a grammar have it. */
function larkOf(name: string, definition: string): HostileConstraint {
  const text: TextPart = { type: 'json-string', format: { syntax: 'lark', definition }, param: 'tools[0].format' };
  const regions = [{ type: 'bound' as const, branches: [{ text, next: null }] }];
  return { name: `Lark: ${name}`, constraint: { type: 'regions', regions, param: 'tools' } };
}

/** The parameters of many tools. */
function toolsOf(name: string, count: number, schema: (index: number) => unknown): HostileConstraint {
  const parts = list(count, (index): TextPart => ({
    type: 'sequence',
    parts: [
      { type: 'literal', text: `{"name": "tool${index}", "arguments": ` },
      { type: 'json-schema', schema: schema(index), param: `tools[${index}].function.parameters` },
      { type: 'literal', text: '}' },
    ],
  }));
  const regions = [{ type: 'bound' as const, branches: [{ text: { type: 'choice' as const, parts }, next: null }] }];
  return { name: `tools: ${name}`, constraint: { type: 'regions', regions, param: 'tools' } };
}

const list = <Item>(count: number, item: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => item(index));
const named = <Value>(count: number, value: (index: number) => Value): Record<string, Value> =>
  Object.fromEntries(list(count, (index) => [`n${index}`, value(index)]));
const joined = (count: number, text: (index: number) => string, between = ' '): string =>
  list(count, text).join(between);
const doublings = (count: number, define: (name: string, body: string) => string): string =>
  joined(count, (index) => define(`A${index}`, `A${index + 1} A${index + 1}`), '\n');

function nested(depth: number, wrap: (inner: unknown) => unknown, inner: unknown): unknown {
  let schema = inner;
  for (let level = 0; level < depth; level++) schema = wrap(schema);
  return schema;
}

/** `size` 1 is for a test of seconds; the sizes of the request limits are near 20. */
function hostileSchemas(size: number): HostileConstraint[] {
  const n = (count: number): number => Math.round(count * size);
  const constants = list(n(3_000), (index) => ({ const: index }));
  const anyOf = list(n(700), (index) => ({ minLength: index }));
  const allOf = list(n(700), (index) => ({ maxLength: 9_999 + index }));
  const digits = (index: number): string => String(index).padStart(6, '0');
  return [
    schemaOf('oneOf of constants', { oneOf: constants }),
    schemaOf('oneOf of ranges', {
      oneOf: list(n(1_500), (index) => ({ type: 'integer', minimum: index * 10, maximum: index * 10 + 5 })),
    }),
    schemaOf('oneOf of objects by a required constant', {
      oneOf: list(n(500), (index) => ({
        type: 'object',
        properties: { kind: { const: index }, more: { type: 'string' } },
        required: ['kind'],
        additionalProperties: false,
      })),
    }),
    schemaOf('oneOf of enums', { oneOf: list(n(400), (index) => ({ enum: list(20, (item) => index * 20 + item) })) }),
    schemaOf('minProperties of a closed object', { type: 'object', additionalProperties: false, minProperties: 1e8 }),
    schemaOf('minProperties above the members', {
      type: 'object',
      properties: named(3, () => ({})),
      additionalProperties: false,
      minProperties: 30_000_000,
    }),
    schemaOf('minProperties of an open object', { type: 'object', minProperties: 1e9 }),
    schemaOf('maxProperties', { type: 'object', properties: named(n(300), () => ({})), maxProperties: n(250) }),
    schemaOf('maxProperties of 2^53', { type: 'object', properties: { a: {} }, maxProperties: 2 ** 53 - 1 }),
    schemaOf('counts of 2^53', {
      type: 'array',
      minItems: 2 ** 52,
      maxItems: 2 ** 53 - 1,
      items: { type: 'string', minLength: 2 ** 52, maxLength: 2 ** 53 - 1 },
    }),
    schemaOf('numbers of 300 digits', {
      type: 'array',
      prefixItems: list(n(30), (index) => ({ type: 'number', minimum: -1e308 + index, maximum: 1e308 - index })),
    }),
    schemaOf('tiny numbers', {
      prefixItems: list(n(30), (index) => ({ exclusiveMinimum: 1e-300 * (index + 1), maximum: 1.5e-7 })),
    }),
    schemaOf('multiples', {
      prefixItems: list(n(20), (index) => ({
        type: 'integer',
        multipleOf: 1_009 + index,
        minimum: 0,
        maximum: 4_000 * 1_009,
      })),
    }),
    schemaOf('multiples of one number', {
      allOf: list(n(30), (index) => ({ multipleOf: [7, 11, 13, 17, 0.003, 1e-15, 1e14][index % 7] })),
      items: { type: 'number', multipleOf: 0.000_000_123_457, minimum: -1e308, exclusiveMaximum: 1e308 },
      type: ['number', 'array'],
    }),
    schemaOf('few names', {
      items: { type: 'object', patternProperties: { '^(a|b{1,3}|.*c.{9})$': {} }, additionalProperties: false },
    }),
    schemaOf('many names', {
      type: 'object',
      minProperties: n(1e12),
      patternProperties: { '^a*$': {}, '^(a|b){1,40}$': {} },
      additionalProperties: false,
    }),
    schemaOf('allOf × anyOf', { allOf: [{ anyOf }, ...allOf] }),
    schemaOf('anyOf × anyOf', { allOf: [{ anyOf }, { anyOf: allOf }, { anyOf }] }),
    schemaOf('allOf of objects', {
      allOf: list(n(100), (index) => ({ properties: named(100, () => ({ minLength: index })) })),
    }),
    schemaOf('wide enum of texts', { enum: list(n(20_000), (index) => `value ${digits(index * 7)}`) }),
    schemaOf('wide enum of numbers', { enum: list(n(40_000), (index) => index * 31) }),
    schemaOf('wide enum of lists', { enum: list(n(5_000), (index) => [index, [index]]) }),
    schemaOf('enum beside enums', {
      allOf: list(n(20), () => ({ enum: list(1_000, (index) => `v${index}`) })),
    }),
    schemaOf('many members', {
      type: 'object',
      properties: named(n(5_000), () => ({ type: 'integer' })),
      required: list(n(5_000), (index) => `n${index}`),
    }),
    schemaOf('members by patterns', {
      properties: named(n(300), () => ({})),
      patternProperties: Object.fromEntries(
        list(5, (index) => [`^(?!.*${index})(.{3,${90 + index}}a|b{2,80}).*$`, {}]),
      ),
    }),
    schemaOf('many items', { prefixItems: list(n(8_000), (index) => ({ const: index })) }),
    schemaOf('many references', {
      $defs: named(n(3_000), (index) => ({ $ref: `#/$defs/n${index + 1}` })),
      anyOf: list(n(50), (index) => ({ $ref: `#/$defs/n${index}` })),
    }),
    schemaOf('anchors', {
      $defs: named(n(5_000), (index) => ({ $anchor: `a${index}`, type: 'string' })),
      anyOf: list(n(1_000), (index) => ({ $ref: `#a${index}` })),
    }),
    schemaOf(
      'long pointers',
      nested(60, (inner) => ({ properties: { ['x'.repeat(n(1_000))]: inner } }), {
        properties: named(n(1_000), () => ({ type: 'null' })),
      }),
    ),
    schemaOf(
      'deep lists',
      nested(n(400), (items) => ({ items }), true),
    ),
    schemaOf('many patterns', {
      properties: named(n(150), (index) => ({ type: 'string', pattern: `^[^${index}a-z]{1,${index + 9}}.{0,99}$` })),
    }),
    schemaOf('patterns of one text', {
      allOf: list(n(8), (index) => ({ pattern: `.*a.{${20 + index}}`, minLength: 3 + index })),
    }),
    schemaOf('long constants', { enum: list(n(20), (index) => 'x'.repeat(20_000) + index) }),
    schemaOf('names of every length', { propertyNames: { enum: list(n(10_000), (index) => `name${digits(index)}`) } }),
    toolsOf('oneOf in each', n(12), () => ({ oneOf: constants.slice(0, 900) })),
    toolsOf('many', n(300), (index) => ({ type: 'object', properties: named(9, () => ({ maxLength: index })) })),
  ];
}

function hostileGrammars(size: number): HostileConstraint[] {
  const n = (count: number): number => Math.round(count * size);
  const classes = (count: number): string => joined(count, (index) => `[\\u{${(0x100 + index * 3).toString(16)}}]`);
  return [
    larkOf('doublings of terminals', `start: A0\n${doublings(40, (name, body) => `${name}: ${body}`)}\nA40: "a"`),
    larkOf(
      'doublings of rules',
      `start: a0\n${doublings(40, (name, body) => `${name}: ${body}`.toLowerCase())}\na40: "a"`,
    ),
    larkOf('a wide alternative', `start: ${joined(n(9_000), (index) => `"w${index}"`, '|')}`),
    larkOf(
      'a wide alternative of rules',
      `start: ${joined(n(5_000), (index) => `r${index % 10}"w${index}"`, '|')}\n${joined(10, (index) => `r${index}: "x" | r${index} "y"`, '\n')}`,
    ),
    larkOf('a long sequence', `start: ${joined(n(12_000), (index) => `"${index % 10}"i`)}`),
    larkOf('a long text', `start: "${'ab'.repeat(n(20_000))}"i`),
    larkOf(
      'many rules',
      joined(n(4_000), (index) => `${index === 0 ? 'start' : `r${index}`}: "a" r${index + 1}?`, '\n') +
        `\nr${n(4_000)}: "b"`,
    ),
    larkOf(
      'many terminals',
      `start: ${joined(n(3_000), (index) => `T${index}`, '|')}\n${joined(n(3_000), (index) => `T${index}: /[a-f]{${index % 90},${100 + index}}/`, '\n')}`,
    ),
    larkOf('repetitions of repetitions', `start: ((("a"~1..999)~1..999)~1..999 | ("b" | "c"~5..9999)~9..99999)~1..999`),
    larkOf('brackets', `start: ${'('.repeat(190)}"a"${')'.repeat(190)}`),
    larkOf('comments', `start: "a" ${'#'.repeat(n(20_000))}\n${'// x\n'.repeat(n(3_000))}`),
    larkOf(
      'ignored',
      `start: ${joined(n(300), () => '"a"')}\n${joined(n(100), (index) => `%ignore /x{${index}}[ a]/`, '\n')}`,
    ),
    grammarOf('a wide alternative', `root ::= ${joined(n(9_000), (index) => `"w${index}"`, '|')}`),
    grammarOf('a long sequence', `root ::= ${joined(n(12_000), () => '[ab]')}`),
    grammarOf(
      'characters of a class',
      `root ::= [${joined(n(4_000), (index) => `\\u${(0x100 + index * 3).toString(16).padStart(4, '0')}`, '')}]`,
    ),
    grammarOf(
      'many classes',
      `root ::= ${classes(n(2_000))}`.replaceAll(/\\u\{(\w+)\}/g, (_, code: string) => `\\u${code.padStart(4, '0')}`),
    ),
    grammarOf('comments without an end', `root ::= a ${'#'.repeat(n(2_000))}\n b\na ::= "x"\nb ::= "y"`),
    grammarOf('blanks in bounds', `root ::= "a"{1,${' '.repeat(n(20_000))}x`),
    grammarOf(
      'many rules',
      `root ::= r0\n${joined(n(4_000), (index) => `r${index} ::= "a" r${index + 1} | "b"`, '\n')}\nr${n(4_000)} ::= "c"`,
    ),
    grammarOf(
      'rules in a chain',
      `root ::= r0\n${joined(n(2_000), (index) => `r${index} ::= r${index + 1} | r${index + 1} "b"`, '\n')}\nr${n(2_000)} ::= "c"`,
    ),
    grammarOf(
      'rules that match nothing',
      `root ::= ${joined(n(900), (index) => `r${index}`)}\n${joined(n(900), (index) => `r${index} ::= r${index + 1}?`, '\n')}\nr${n(900)} ::= "c"?`,
    ),
    grammarOf(
      'doublings',
      `root ::= a0\n${joined(40, (index) => `a${index} ::= a${index + 1} a${index + 1}`, '\n')}\na40 ::= "x"`,
    ),
    grammarOf('ambiguous', 'root ::= (a | b | c){1,900}\na ::= "x"{1,9}\nb ::= "x"? "x"?\nc ::= [a-z]*'),
    grammarOf('operators', `root ::= "a"${'*'.repeat(n(3_000))}`),
  ];
}

const scripts = [
  'Latin',
  'Greek',
  'Cyrillic',
  'Arabic',
  'Han',
  'Thai',
  'Hebrew',
  'Tamil',
  'Khmer',
  'Lao',
  'Ogham',
  'Runic',
];

function hostilePatterns(size: number): HostileConstraint[] {
  const n = (count: number): number => Math.round(count * size);
  return [
    patternOf('nested repetitions', '((a{1,900}b{1,900}){1,900}|(a|b){3,9000}){1,900}'),
    patternOf('(a+)+$', '(a+)+$'),
    patternOf('states without end', '(.*a.{120}|.*e.{120}|.*o.{120}){1,9}'),
    patternOf('one of many', joined(n(600), (index) => `w${index}`, '|').slice(0, 4_000)),
    patternOf('look-ahead', '(?=.*a.{30})(?=.*b.{29})(?!.*c.{28}d).{5,9000}'),
    patternOf('intersections', joined(6, (index) => `(?=.*[a-c]${'.'.repeat(index + 9)}x)`, '') + '.*'),
    patternOf(
      'classes',
      joined(190, (index) => `[^\\u${(0x250 + index * 5).toString(16).padStart(4, '0')}a-z]`, '') + '.*',
    ),
    patternOf('alternatives with assertions', '(\\b|a{1,9})'.repeat(8) + '.*\\b.*a.{30}'),
    patternOf('word boundaries', '.*\\b.{1,40}'.repeat(n(60))),
    patternOf('look-behind', '.*a.{30}(?<=b.{29})(?<!c.{28}d).*(?<=.*e.{30}f)'),
    patternOf('look-ahead with boundaries', '(?=.*\\ba.{25}\\b)'.repeat(n(20)) + '.*'),
    patternOf('Unicode properties', '[\\p{L}\\p{N}]{1,900}\\P{Lu}\\p{Script=Han}*'.repeat(n(9))),
    patternOf(
      'every Unicode property',
      joined(n(40), (index) => `\\p{Script=${scripts[index % scripts.length]}}`, '|'),
    ),
    patternOf('brackets', '('.repeat(190) + 'a' + ')'.repeat(190)),
  ];
}

export function hostileConstraints(size = 1): HostileConstraint[] {
  return [...hostileSchemas(size), ...hostileGrammars(size), ...hostilePatterns(size)];
}
