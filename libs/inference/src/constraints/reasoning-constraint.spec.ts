import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allowedBy, isAllowed, type TokenConstraint } from '../sampling/token-constraint.js';
import { ReasoningScanner } from '../text/reasoning-scanner.js';
import { ConstraintCompiler } from './constraint-compiler.js';
import { ReasoningConstraint, type ReasoningConstraintOptions } from './reasoning-constraint.js';
import { ReasoningTokens } from './reasoning-tokens.js';
import { buildTokenTrie } from './token-trie.js';

/** Every byte is a token, then some longer ones; the last one ends texts. */
const words = ['<think>', '</think>', '</', 'think', '>\n\n', '>{', 'hm', '{"a":1', '\n\n', '"<think>"', '水', ' k>'];
const table = [
  ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
  ...words.map((word) => Buffer.from(word)),
];
const eos = table.push(new Uint8Array(0)) - 1;
const bare = table.push(new Uint8Array(0)) - 1;
const endings = new Set([eos]);
const format = { open: '<think>', close: '</think>' };

const idOf = (word: string): number => 256 + words.indexOf(word);
const tokens = new ReasoningTokens(table, format, { closeIds: [idOf('</think>')], endings });
const spelled = new ReasoningTokens(table, format, {
  closeIds: [idOf('</'), idOf('think'), '>'.charCodeAt(0)],
  endings,
});
const compiler = new ConstraintCompiler(buildTokenTrie(table, endings));
const { newMatcher } = await compiler.compile({
  type: 'json-schema',
  schema: { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'], additionalProperties: false },
  param: 'response_format',
});
const json = (): TokenConstraint => newMatcher([eos, bare]);

function start(options: Partial<ReasoningConstraintOptions> = {}, of = tokens): ReasoningConstraint {
  return new ReasoningConstraint(of, { startsInside: false, budget: null, newAnswer: null, ...options });
}

/** Accepts a word that is one token, or its bytes one by one. Each must be allowed. */
function accept(constraint: ReasoningConstraint, ...texts: string[]): void {
  for (const text of texts) {
    for (const id of words.includes(text) ? [idOf(text)] : Buffer.from(text)) {
      expect([text, may(constraint, id)]).toEqual([text, true]);
      constraint.accept(id);
    }
  }
}

function may(constraint: ReasoningConstraint, token: number | string): boolean {
  const allowed = allowedBy(constraint);
  return allowed === null || isAllowed(allowed, typeof token === 'string' ? idOf(token) : token);
}

/** The tokens that may come next. */
function choices(constraint: ReasoningConstraint): number[] {
  return [...table.keys()].filter((id) => may(constraint, id));
}

describe('ReasoningConstraint with a grammar', () => {
  it('lets the text begin with a block or with the answer', () => {
    const constraint = start({ newAnswer: json });
    for (const word of ['<think>', '{"a":1']) expect(may(constraint, word)).toBe(true);
    for (const word of ['hm', '</think>', '>{']) expect(may(constraint, word)).toBe(false);
    expect(may(constraint, eos)).toBe(false);
    accept(constraint, '{"a":1');
    expect(may(constraint, '<think>')).toBe(false);
  });

  it('applies no grammar within the block, which must not end the text', () => {
    const constraint = start({ newAnswer: json, rawStops: [eos, bare] });
    accept(constraint, '<think>', 'hm', '水', '"<think>"', '</');
    expect([may(constraint, eos), may(constraint, bare), may(constraint, 'hm')]).toEqual([false, false, true]);
    accept(constraint, 'think');
    // This token completes the delimiter and begins the answer unseen by the grammar.
    expect([may(constraint, '>{'), may(constraint, '>\n\n')]).toEqual([false, true]);
    accept(constraint, '>\n\n');
    expect([may(constraint, 'hm'), may(constraint, '{"a":1'), may(constraint, eos)]).toEqual([false, true, false]);
    accept(constraint, '{"a":1', '}');
    expect(constraint.isFinished()).toBe(true);
  });

  it('lets little white space stand in front of the answer', () => {
    const constraint = start({ newAnswer: json, startsInside: true });
    accept(constraint, '</think>', '\n\n', '\n\n');
    expect(may(constraint, '\n\n')).toBe(false);
    accept(constraint, '{"a":1', '}');
    expect(constraint.isFinished()).toBe(true);
  });

  it('recognizes delimiters that are spelled by other tokens, byte by byte', () => {
    const constraint = start({ newAnswer: json });
    accept(constraint, ...'\n<think>x</thi</think>{"a":12}');
    expect(constraint.isFinished()).toBe(true);
  });

  it('tells a bracket of the answer from one of the delimiter', async () => {
    const list = await compiler.compile({ type: 'json-schema', schema: { type: 'array', maxItems: 0 }, param: 'p' });
    const brackets = new ReasoningTokens(
      table,
      { open: '[T]', close: '[/T]' },
      { closeIds: [...Buffer.from('[/T]')], endings },
    );
    const newAnswer = (): TokenConstraint => list.newMatcher([eos]);
    const reasoned = start({ newAnswer }, brackets);
    accept(reasoned, ...'[T]no[/T][]');
    const direct = start({ newAnswer }, brackets);
    accept(direct, ...'[]');
    expect([reasoned.isFinished(), direct.isFinished()]).toEqual([true, true]);
  });
});

describe('ReasoningConstraint with a budget', () => {
  it('leaves a text without reasoning alone', () => {
    const constraint = start({ budget: 2 });
    accept(constraint, 'hm', 'hm', 'hm', '<think>', 'hm', 'hm', 'hm');
    expect(constraint.isFree()).toBe(true);
    expect(constraint.isFinished()).toBe(false);
  });

  it.each([
    ['one token', tokens, ['</think>']],
    ['several tokens', spelled, ['</', 'think']],
  ])('closes the block by force, as %s', (_name, of, closing) => {
    const constraint = start({ budget: 2 }, of);
    accept(constraint, '<think>', 'hm');
    expect(constraint.isFree()).toBe(true);
    accept(constraint, 'hm');
    for (const word of closing) {
      expect(choices(constraint)).toEqual([idOf(word)]);
      accept(constraint, word);
    }
    if (closing.length > 1) accept(constraint, '>');
    expect(constraint.isFree()).toBe(true);
    accept(constraint, 'hm', 'hm', 'hm');
    expect(constraint.isFree()).toBe(true);
  });

  it('closes at once with a budget of zero, each block anew', () => {
    const inside = start({ budget: 0, startsInside: true });
    expect(choices(inside)).toEqual([idOf('</think>')]);
    const constraint = start({ budget: 0 });
    for (let block = 0; block < 2; block++) {
      accept(constraint, '<think>');
      expect(choices(constraint)).toEqual([idOf('</think>')]);
      accept(constraint, '</think>');
    }
  });

  it('does not cut within a character', () => {
    const constraint = start({ budget: 1, startsInside: true });
    const [first = 0, ...rest] = Buffer.from('水');
    constraint.accept(first);
    for (const byte of rest) {
      expect(constraint.isFree()).toBe(true);
      constraint.accept(byte);
    }
    expect(choices(constraint)).toEqual([idOf('</think>')]);
  });

  it('hands over to the grammar', () => {
    const constraint = start({ budget: 1, startsInside: true, newAnswer: json });
    accept(constraint, 'hm', '</think>', '{"a":1', '}');
    expect(constraint.isFinished()).toBe(true);
  });
});

describe('ReasoningConstraint', () => {
  it('sees blocks where the scanner of the text sees them, whatever the tokens', () => {
    const token = fc.oneof(fc.constantFrom(...words.map(idOf)), fc.constantFrom(...Buffer.from('</think> \n{')));
    fc.assert(
      fc.property(fc.array(token, { maxLength: 30 }), fc.boolean(), (ids, startsInside) => {
        // A budget that is used up forces the end of a block wherever the constraint sees one.
        const constraint = start({ budget: 0, startsInside });
        const scanner = new ReasoningScanner(format, { startsInside });
        for (const id of ids) {
          const isForced = !constraint.isFree();
          expect(isForced).toBe(scanner.isInside);
          const next = isForced ? idOf('</think>') : id;
          constraint.accept(next);
          scanner.push(Buffer.from(table[next] ?? []).toString());
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('ends with an answer that the grammar accepts, whatever is drawn', () => {
    const draws = fc.infiniteStream(fc.nat());
    fc.assert(
      fc.property(draws, fc.nat({ max: 12 }), fc.boolean(), (stream, budget, startsInside) => {
        const constraint = start({ budget, startsInside, newAnswer: json, rawStops: [eos, bare] });
        const scanner = new ReasoningScanner(format, { startsInside });
        const bytes: number[] = [];
        while (!constraint.isFinished() && bytes.length < 400) {
          const able = choices(constraint);
          const id = able[(stream.next().value as number) % able.length] ?? eos;
          if (id === eos || id === bare) break;
          constraint.accept(id);
          bytes.push(...(table[id] ?? []));
        }
        if (bytes.length >= 400) return;
        const parts = [...scanner.push(Buffer.from(bytes).toString()), ...scanner.flush()];
        const answer = parts.flatMap(({ kind, text }) => (kind === 'answer' ? [text] : [])).join('');
        expect(JSON.parse(answer)).toEqual({ a: expect.any(Number) });
      }),
      { numRuns: 300 },
    );
  });
});
