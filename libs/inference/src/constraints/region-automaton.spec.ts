import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OutputRegion, TextPart } from '../contract/output-region.js';
import { isAllowed } from '../sampling/token-constraint.js';
import { ConstraintCompiler } from './constraint-compiler.js';
import type { TokenMatcher } from './token-matcher.js';
import { buildTokenTrie } from './token-trie.js';

const encoder = new TextEncoder();
const endToken = 0;
const pieces = ['<call>', '<ca', 'll>', '>', '>{', '>x', 'l>{"', '{"', '"}', ' text', '</call>', '\n', '}</', 'll>ab'];
const table = [
  new Uint8Array(0),
  ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
  ...pieces.map((piece) => encoder.encode(piece)),
];
const idOf = (piece: string): number => (piece.length === 1 ? piece.charCodeAt(0) + 1 : 257 + pieces.indexOf(piece));
const compiler = new ConstraintCompiler(buildTokenTrie(table, new Set([endToken])));

async function matcherOf(regions: OutputRegion[]): Promise<TokenMatcher> {
  return (await compiler.compile({ type: 'regions', regions, param: 'tools' })).newMatcher([endToken]);
}

/** Whether the regions allow the text, byte by byte, and whether it may end there. */
async function read(regions: OutputRegion[], text: string): Promise<'refused' | 'open' | 'complete'> {
  const matcher = await matcherOf(regions);
  for (const byte of encoder.encode(text)) {
    if (matcher.isFinished() || !isAllowed(matcher.allowed(), byte + 1)) return 'refused';
    matcher.accept(byte + 1);
  }
  return matcher.isFinished() || matcher.allowed().endings.length > 0 ? 'complete' : 'open';
}

const literal = (text: string): TextPart => ({ type: 'literal', text });
const sequence = (...parts: TextPart[]): TextPart => ({ type: 'sequence', parts });
const flag: TextPart = { type: 'json-schema', param: 'p', schema: { enum: [1, 22] } };
const call = sequence(literal('{"a":'), flag, literal('}</call>'));

/** Free text with any number of calls in it. */
const calls: OutputRegion[] = [
  { type: 'free', exits: [{ text: '<call>', next: 1 }], mayEnd: true },
  { type: 'bound', branches: [{ text: call, next: 0 }] },
];

describe('the regions of a text', () => {
  it('leave the text free up to an exit, bind it behind that, and free it again', async () => {
    expect(await read(calls, 'anything < <c <cal at all')).toBe('complete');
    expect(await read(calls, 'a<call>')).toBe('open');
    expect(await read(calls, 'a<call>{"a":1}</call>')).toBe('complete');
    expect(await read(calls, 'a<call>{"a":1}</call>b<call>{"a":22}</call>c')).toBe('complete');
    expect(await read(calls, 'a<call>{"a":3')).toBe('refused');
    expect(await read(calls, 'a<call>{"a":1}</call>b<call>x')).toBe('refused');
  });

  it('find an exit that begins within a beginning of itself', async () => {
    const regions: OutputRegion[] = [
      { type: 'free', exits: [{ text: 'aab', next: 1 }], mayEnd: true },
      { type: 'bound', branches: [{ text: literal('!'), next: null }] },
    ];
    expect(await read(regions, 'aaaab')).toBe('open');
    expect(await read(regions, 'aaaab!')).toBe('complete');
    expect(await read(regions, 'aaaabx')).toBe('refused');
  });

  it('offer no token that runs over an exit into what must not follow, and mask nothing elsewhere', async () => {
    const matcher = await matcherOf(calls);
    // `ll>ab` runs over no exit here.
    expect(matcher.isFree()).toBe(true);
    matcher.accept(idOf('<ca'));
    expect(matcher.isFree()).toBe(false);
    for (const [piece, isOffered] of [
      ['ll>', true],
      ['ll>ab', false],
      ['l>{"', true],
      [' text', true],
    ] as const) {
      expect(isAllowed(matcher.allowed(), idOf(piece))).toBe(isOffered);
    }
    expect(matcher.allowed().endings).toEqual([endToken]);
    matcher.accept(idOf('l'));
    expect(isAllowed(matcher.allowed(), idOf('l>{"'))).toBe(true);
    matcher.accept(idOf('l>{"'));
    expect(matcher.allowed().endings).toEqual([]);
    expect(isAllowed(matcher.allowed(), idOf('x'))).toBe(false);
    expect(isAllowed(matcher.allowed(), idOf('a'))).toBe(true);
  });

  it('take an exit at the start only behind nothing but white space', async () => {
    const regions: OutputRegion[] = [
      { type: 'free', exits: [{ text: '{"a":', next: 1, atStart: true }], mayEnd: true },
      { type: 'bound', branches: [{ text: sequence(flag, literal('}')), next: null }] },
    ];
    expect(await read(regions, ' \n{"a":22}')).toBe('complete');
    expect(await read(regions, '{"a":22}.')).toBe('refused');
    expect(await read(regions, '{"a":x')).toBe('refused');
    expect(await read(regions, 'So: {"a":x')).toBe('complete');
    expect(await read(regions, '{{"a":x')).toBe('complete');
  });

  it('go on behind what an exit stands for', async () => {
    const other = sequence(literal('<x>'), flag, literal('!'));
    const regions: OutputRegion[] = [
      {
        type: 'free',
        exits: [
          { text: '{ "a" ', next: 1, entered: '{"a":' },
          { text: '<y>', next: 1, entered: '<x>' },
        ],
        mayEnd: true,
      },
      {
        type: 'bound',
        branches: [
          { text: sequence(literal('{"a":'), flag, literal('}')), next: null },
          { text: other, next: null },
        ],
      },
    ];
    expect(await read(regions, 'So { "a" 22}')).toBe('complete');
    expect(await read(regions, 'So { "a" 22!')).toBe('refused');
    expect(await read(regions, 'So <y>1!')).toBe('complete');
    expect(await read(regions, '<x>1 {"a":3')).toBe('complete');
  });

  it('hold back the end of the text where a region must not end', async () => {
    const regions: OutputRegion[] = [
      { type: 'free', exits: [{ text: '</call>', next: 1 }], mayEnd: false },
      { type: 'bound', branches: [{ text: flag, next: null }] },
    ];
    expect(await read(regions, 'hm')).toBe('open');
    expect((await matcherOf(regions)).isFree()).toBe(false);
    expect(await read(regions, 'hm</call>')).toBe('open');
    expect(await read(regions, 'hm</call>22')).toBe('complete');
    expect(await read(regions, 'hm</call>23')).toBe('refused');
  });

  it('follow the branch that the text takes', async () => {
    const regions: OutputRegion[] = [
      {
        type: 'bound',
        branches: [
          { text: literal('<think>'), next: 1 },
          { text: flag, next: null },
        ],
      },
      { type: 'free', exits: [{ text: '</think>', next: 2 }], mayEnd: false },
      { type: 'bound', branches: [{ text: flag, next: null }] },
    ];
    expect(await read(regions, '22')).toBe('complete');
    expect(await read(regions, '<think>1 or 22?</think>')).toBe('open');
    expect(await read(regions, '<think>1 or 22?</think>1')).toBe('complete');
    expect(await read(regions, 'x')).toBe('refused');
    expect(await read(regions, '<think>1 or 22?</think>x')).toBe('refused');
  });

  it('know lists, choices, patterns, objects and texts up to another one', async () => {
    const item = sequence({ type: 'regex', pattern: '[a-z]+' }, literal('='), {
      type: 'choice',
      parts: [{ type: 'json-object' }, literal('none')],
    });
    const text = sequence(
      literal('('),
      item,
      { type: 'repeat', part: sequence(literal(','), { type: 'space' }, item), min: 0, max: 1 },
      literal(')'),
      { type: 'up-to', text: '--' },
    );
    const regions: OutputRegion[] = [{ type: 'bound', branches: [{ text, next: null }] }];
    expect(await read(regions, '(ab={"x":[1]}, c=none)é - -, -x--')).toBe('complete');
    expect(await read(regions, '(a=none,b=none,c')).toBe('refused');
    expect(await read(regions, '(a=none)ab--c')).toBe('refused');
  });

  it('name the field and the place of a schema that is not covered', async () => {
    const schema = { type: 'object', properties: { a: { unevaluatedItems: false } } };
    const text = sequence(literal('x'), { type: 'json-schema', schema, param: 'tools[1].function.parameters' });
    await expect(matcherOf([{ type: 'bound', branches: [{ text, next: null }] }])).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      param: 'tools[1].function.parameters',
      message: 'The schema is not supported at #/properties/a/unevaluatedItems: this keyword is not supported.',
    });
  });

  it.each([
    [{ enum: [] }, 'no value satisfies the schema'],
    [{ $ref: '#' }, '$ref leads back to itself'],
  ])('name the field of a schema among others that no value satisfies: %j', async (schema, reason) => {
    const wrong: TextPart = { type: 'json-schema', schema, param: 'tools[1].function.parameters' };
    const text: TextPart = { type: 'choice', parts: [flag, wrong] };
    await expect(matcherOf([{ type: 'bound', branches: [{ text, next: null }] }])).rejects.toMatchObject({
      param: 'tools[1].function.parameters',
      message: expect.stringContaining(reason) as string,
    });
  });

  it('read a text alike however tokens split it', async () => {
    const texts = fc.constantFrom(
      'a<call>{"a":1}</call>',
      '<<call>{"a":22}</call> text',
      '<c>x',
      '<call>{"a":1}</call>\n',
    );
    await fc.assert(
      fc.asyncProperty(texts, fc.infiniteStream(fc.nat()), async (text, picks) => {
        const matcher = await matcherOf(calls);
        for (let rest: string = text; rest !== '';) {
          const fitting = [rest.slice(0, 1), ...pieces.filter((piece) => rest.startsWith(piece))];
          const piece = fitting[(picks.next().value ?? 0) % fitting.length] ?? '';
          if (!isAllowed(matcher.allowed(), idOf(piece))) throw new Error(`${piece} is not allowed before ${rest}`);
          matcher.accept(idOf(piece));
          rest = rest.slice(piece.length);
        }
        expect(matcher.allowed().endings).toEqual([endToken]);
      }),
      { numRuns: 60 },
    );
  });
});
