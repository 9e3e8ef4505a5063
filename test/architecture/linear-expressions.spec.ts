import { describe, expect, it } from 'vitest';
import { collectExpressions, type FoundExpression } from './expressions/collect-expressions.js';
import {
  expressionExceptions,
  type ExpressionException,
  modulesBuiltAtLoad,
  speechLength,
} from './expressions/expression-exceptions.js';
import { findAmbiguity } from './expressions/find-ambiguity.js';
import { characterRuns, searchMs, texts } from './expressions/measure-expression.js';
import { recordExpressions } from './expressions/record-expressions.js';
import { productSources } from './repository-files.js';

/** Processor time of one search of the longest text, in ms. Linear searches take less than one. */
const maxMs = 500;
/** Length of the texts for expressions whose texts have no bound. */
const longLength = 40_000;

const found = productSources.flatMap((path) => collectExpressions(path));
const key = ({ path, text }: Pick<FoundExpression, 'path' | 'text'>): string => `${path} ${text}`;
const exceptions = new Map(expressionExceptions.map((exception) => [key(exception), exception]));

/** What the exception does not cover. */
function problemOf({ path, expression }: FoundExpression, exception?: ExpressionException): string | null {
  const examined = exception?.example ?? expression;
  if (examined === null && modulesBuiltAtLoad.includes(path)) return null;
  if (examined === null || examined === undefined) return 'is put together when the program runs';
  const ambiguity = findAmbiguity(exception?.isTriedOnce ? anchored(examined) : examined);
  if (ambiguity === null || exception?.maxLength !== undefined) return null;
  return `takes more than linear time: ${ambiguity.reason} (${JSON.stringify(ambiguity)})`;
}

function anchored({ source, flags }: RegExp): RegExp {
  return new RegExp(`^(?:${source})`, flags);
}

describe('regular expressions of production code', () => {
  it('search in linear time, except listed ones whose texts are bounded', () => {
    const problems = found.flatMap((each) => {
      const problem = problemOf(each, exceptions.get(key(each)));
      return problem === null ? [] : [`${each.path}:${each.line} ${each.text} ${problem}`];
    });
    expect(problems).toEqual([]);
    expect(found.length).toBeGreaterThan(500);
  });

  it('are listed as exceptions only where they need it', () => {
    const known = new Map(found.map((each) => [key(each), each]));
    const unneeded = expressionExceptions.filter((exception) => {
      const each = known.get(key(exception));
      return each === undefined || (exception.example === undefined && problemOf(each) === null);
    });
    expect(unneeded.map(key)).toEqual([]);
  });

  it('take little time for the longest hostile text that exceptions meet', () => {
    const slow = expressionExceptions.flatMap(({ path, text, example, maxLength }) => {
      const expression = example ?? found.find((each) => key(each) === `${path} ${text}`)?.expression;
      if (expression === null || expression === undefined || maxLength === undefined) return [];
      const ms = Math.max(...texts(expression, maxLength).map((hostile) => searchMs(expression, hostile)));
      return ms <= maxMs ? [] : [`${path} ${text} ${ms} ms`];
    });
    expect(slow).toEqual([]);
  });

  it.each(modulesBuiltAtLoad)('of %s, which it puts together, take little time for the longest text', async (path) => {
    const built = await recordExpressions(path);
    expect(built.length).toBeGreaterThan(0);
    const slow = built.flatMap((expression) => {
      const ms = Math.max(...texts(expression, speechLength).map((text) => searchMs(expression, text)));
      return ms <= maxMs ? [] : [`${String(expression)} ${ms} ms`];
    });
    expect(slow).toEqual([]);
  });

  it('that were found linear take little time for long runs of each character that they know', () => {
    const linear = new Map(
      found
        .filter((each) => each.expression !== null && problemOf(each) === null)
        .map((each) => [String(each.expression), each]),
    );
    const slow = [...linear.values()].flatMap((each) => {
      const expression = each.expression as RegExp;
      const ms = Math.max(...characterRuns(expression, longLength).map((text) => searchMs(expression, text)));
      return ms <= maxMs ? [] : [`${key(each)} ${ms} ms`];
    });
    expect(slow).toEqual([]);
  });
});

describe('the examination of expressions', () => {
  it.each([
    /[.,]+$/,
    /^\s*([a-z-]+)\s*:\s*([^#]*?)\s*(?:#.*)?$/i,
    /^[A-Za-z0-9+/\s]*={0,2}\s*$/,
    /(a+)+$/,
    /(a|a)*b/,
    /(a|ab|b)*c/,
    /(a*)*b/,
    /(x+x+)+y/,
    /^(?:\s|#[^\n]*)*::=/,
    /\n\s*\n/,
    /<!--[^]*-->/,
    /a(?:.*b)?/g,
    /(?=a+b)a/,
    /(?!\s*$)./g,
    /^\s*x/m,
    /(\w+)\s\1/,
    /(?<=a+)b/,
    /[^,]{0,1000};/,
    /(a?){20}a{20}/,
    /[\p{L}.]+!/u,
    /é+è/i,
  ])('refuses %s', (expression) => {
    expect(findAmbiguity(expression)).not.toBeNull();
  });

  it.each([
    /\s+/g,
    /^\s+$/,
    /^(\d+)(?:,\d+)*$/,
    /^(a|ab)*$/,
    /^[^=]+=[^=]+$/,
    /\d{1,3}:/,
    /a(?=b+c)/,
    /(?<=\d{1,3})a/,
    /(?:\/\w+){2,}\/?/g,
    /"[^"\n]{0,200}"/g,
    /^\s*x/,
    /[^]*/,
    /"[^"]*"/g,
    /^(?:[a-z]|[0-9])*$/i,
  ])('accepts %s', (expression) => {
    expect(findAmbiguity(expression)).toBeNull();
  });

  it('names a text that shows the growth', () => {
    const ambiguity = findAmbiguity(/[.,]+$/);
    expect(ambiguity?.pump).toMatch(/^[.,]+$/);
    const hostile = (length: number) =>
      texts(/[.,]+$/, length)
        .toSorted(byTime(/[.,]+$/))
        .at(-1) ?? '';
    expect(hostile(4_000)).toMatch(/[.,]{1000}[^.,]+$/);
  });

  it('finds an expression that is planted in a source file', () => {
    const planted =
      "const ends = /[.,]+$/;\nconst made = new RegExp('(a+)+$');\nconst open = RegExp(`^${ends.source}`);";
    const [first, second, third] = collectExpressions('planted.ts', planted);
    expect([first, second].map((each) => each && problemOf(each)?.slice(0, 27))).toEqual([
      'takes more than linear time',
      'takes more than linear time',
    ]);
    expect(third && problemOf(third)).toBe('is put together when the program runs');
  });
});

function byTime(expression: RegExp): (left: string, right: string) => number {
  const times = new Map<string, number>();
  const timeOf = (text: string): number => {
    const known = times.get(text) ?? searchMs(expression, text);
    times.set(text, known);
    return known;
  };
  return (left, right) => timeOf(left) - timeOf(right);
}
