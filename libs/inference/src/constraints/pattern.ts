import { type CharacterWriter, type CodePointSet, complement, lastCodePoint, unite } from './code-points.js';
import { ConstraintRefusal } from './refusal.js';
import type { PatternNode } from './pattern-node.js';
import { PatternWriter } from './pattern-writer.js';
import type { Regex, RegexArena } from './regex.js';
import { digits, wordCharacters } from './word-characters.js';
import { codePointsWith } from './unicode-properties.js';

const whiteSpace: CodePointSet = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
const lineEnds: CodePointSet = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
];

const classEscapes: Readonly<Record<string, CodePointSet>> = {
  d: digits,
  D: complement(digits),
  w: wordCharacters,
  W: complement(wordCharacters),
  s: whiteSpace,
  S: complement(whiteSpace),
};

const controlEscapes: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, v: 11, f: 12, '0': 0 };

const maxRepetition = 100_000;
const maxDepth = 200;
const maxPatternLength = 4_000;

/**
 * An ECMA-262 regular expression as the texts in which it is found, written by `write`. Covers alternatives, groups,
 * classes, quantifiers, and anchors, word boundaries and look-around that are not repeated. Back references are refused.
 */
export function compilePattern(arena: RegexArena, pattern: string, write: CharacterWriter): Regex {
  const writer = new PatternWriter(arena, write);
  return writer.found(parsed(pattern), writer.anyText);
}

/** As `compilePattern`, as the texts that it matches from start to end. */
export function compileWholePattern(arena: RegexArena, pattern: string, write: CharacterWriter): Regex {
  return new PatternWriter(arena, write).found(parsed(pattern), arena.epsilon);
}

/** As `compileWholePattern`; refuses what Python or Rust reads as something else, such as `[^]]`. */
export function compileForeignPattern(arena: RegexArena, pattern: string, write: CharacterWriter): Regex {
  return new PatternWriter(arena, write).found(parsed(pattern, { isForeign: true }), arena.epsilon);
}

/** As `compileForeignPattern`, for a pattern within a larger text: anchors and look-ahead are refused. */
export function compileInnerPattern(arena: RegexArena, pattern: string, write: CharacterWriter): Regex {
  return new PatternWriter(arena, write).exact(parsed(pattern, { isForeign: true }));
}

function parsed(pattern: string, { isForeign } = { isForeign: false }): PatternNode {
  if (pattern.length > maxPatternLength) {
    throw new ConstraintRefusal(`a pattern of more than ${maxPatternLength} characters is not supported`);
  }
  return new PatternParser(pattern, isForeign).parse();
}

class PatternParser {
  private readonly characters: string[];
  private position = 0;
  private depth = 0;

  constructor(
    private readonly pattern: string,
    private readonly isForeign: boolean,
  ) {
    this.characters = [...pattern];
  }

  parse(): PatternNode {
    const node = this.choice();
    if (this.position < this.characters.length) throw this.refusal('has an unmatched )');
    return node;
  }

  private refusal(reason: string): ConstraintRefusal {
    return new ConstraintRefusal(`the pattern ${JSON.stringify(this.pattern.slice(0, 100))} ${reason}`);
  }

  private peek(): string | undefined {
    return this.characters[this.position];
  }

  private take(expected: string): boolean {
    if (this.peek() !== expected) return false;
    this.position++;
    return true;
  }

  private choice(): PatternNode {
    if (++this.depth > maxDepth) throw this.refusal('is nested too deeply');
    const branches = [this.sequence()];
    while (this.take('|')) branches.push(this.sequence());
    this.depth--;
    return branches.length === 1 && branches[0] !== undefined ? branches[0] : { kind: 'choice', branches };
  }

  private sequence(): PatternNode {
    const items: PatternNode[] = [];
    for (let next = this.peek(); next !== undefined && next !== '|' && next !== ')'; next = this.peek()) {
      items.push(this.quantified(this.atom()));
    }
    return items.length === 1 && items[0] !== undefined ? items[0] : { kind: 'sequence', items };
  }

  private quantified(body: PatternNode): PatternNode {
    const bounds = this.bounds();
    if (bounds === null) return body;
    if (body.kind === 'boundary' || body.kind === 'behind')
      throw this.refusal('repeats a look-behind or a word boundary');
    if (body.kind === 'start' || body.kind === 'end') throw this.refusal('repeats an anchor');
    if (body.kind === 'ahead') throw this.refusal('repeats a look-ahead');
    // Lazy or not, the same texts match.
    this.take('?');
    if (this.bounds() !== null) throw this.refusal('has two quantifiers in a row');
    const [min, max] = bounds;
    if (min > max) throw this.refusal('has a quantifier out of order');
    if (min > maxRepetition || (max !== Infinity && max > maxRepetition)) {
      throw this.refusal(`repeats more than ${maxRepetition} times`);
    }
    return { kind: 'repeat', body, min, max };
  }

  private bounds(): [number, number] | null {
    if (this.take('*')) return [0, Infinity];
    if (this.take('+')) return [1, Infinity];
    if (this.take('?')) return [0, 1];
    if (this.peek() !== '{') return null;
    const rest = this.characters.slice(this.position, this.position + 24).join('');
    const match = /^\{(\d+)(,(\d*))?\}/.exec(rest);
    if (match === null) throw this.refusal('has an unescaped {');
    this.position += match[0].length;
    const min = Number(match[1]);
    return [min, match[2] === undefined ? min : match[3] === '' ? Infinity : Number(match[3])];
  }

  private atom(): PatternNode {
    const next = this.characters[this.position++] ?? '';
    switch (next) {
      case '^':
        return { kind: 'start' };
      case '$':
        return { kind: 'end' };
      case '.':
        return { kind: 'characters', set: complement(lineEnds) };
      case '(':
        return this.group();
      case '[':
        return { kind: 'characters', set: this.characterClass() };
      case '\\':
        return this.boundary() ?? { kind: 'characters', set: this.escape() };
      case '*':
      case '+':
      case '?':
      case '{':
        throw this.refusal(`has nothing to repeat before ${next}`);
      default:
        return { kind: 'characters', set: single(next) };
    }
  }

  /** A word boundary, where it means the same as elsewhere. */
  private boundary(): PatternNode | null {
    if (this.isForeign) return null;
    if (this.take('b')) return { kind: 'boundary', isNegated: false };
    return this.take('B') ? { kind: 'boundary', isNegated: true } : null;
  }

  private group(): PatternNode {
    if (this.take('?')) {
      if (this.take('=')) return { kind: 'ahead', body: this.rest(), isNegated: false };
      if (this.take('!')) return { kind: 'ahead', body: this.rest(), isNegated: true };
      const opening = this.characters.slice(this.position, this.position + 2).join('');
      if (opening.startsWith(':')) this.position++;
      else if (opening === '<=' || opening === '<!') return this.behind(opening);
      else if (opening.startsWith('<')) this.skipName();
      else throw this.refusal('uses modifiers, which are not supported');
    }
    const node = this.rest();
    return node.kind === 'sequence' ? node : { kind: 'sequence', items: [node] };
  }

  private behind(opening: '<=' | '<!'): PatternNode {
    if (this.isForeign) throw this.refusal('uses look-behind, which is not supported');
    this.position += opening.length;
    return { kind: 'behind', body: this.rest(), isNegated: opening === '<!' };
  }

  /** The content of a group and its end. */
  private rest(): PatternNode {
    const node = this.choice();
    if (!this.take(')')) throw this.refusal('has an unmatched (');
    return node;
  }

  private skipName(): void {
    const end = this.characters.indexOf('>', this.position);
    if (end < 0) throw this.refusal('has a group name without an end');
    this.position = end + 1;
  }

  private characterClass(): CodePointSet {
    const isNegated = this.take('^');
    const sets: CodePointSet[] = [];
    if (this.isForeign && this.peek() === ']') throw this.refusal('has a ] at the start of a class: write \\]');
    for (;;) {
      if (this.take(']')) break;
      this.refuseOperator();
      const from = this.classMember();
      this.refuseOperator();
      if (this.peek() === '-' && this.characters[this.position + 1] !== ']') {
        this.position++;
        sets.push(this.rangeBetween(from, this.classMember()));
      } else sets.push(from);
    }
    const set = unite(...sets);
    return isNegated ? complement(set) : set;
  }

  /** What is an operation on classes elsewhere. */
  private refuseOperator(): void {
    const operator = this.characters.slice(this.position, this.position + 2).join('');
    if (!this.isForeign || !['&&', '--', '~~'].includes(operator)) return;
    throw this.refusal(`has ${operator} in a class: write \\${operator[0]} for the character`);
  }

  private classMember(): CodePointSet {
    const next = this.characters[this.position++];
    if (next === undefined) throw this.refusal('has an unmatched [');
    if (next === '[' && this.isForeign) throw this.refusal('has a [ in a class: write \\[');
    if (next !== '\\') return single(next);
    if (this.take('b')) return [[8, 8]];
    if (this.take('-')) return single('-');
    return this.escape();
  }

  private rangeBetween(from: CodePointSet, to: CodePointSet): CodePointSet {
    const [[first, firstEnd] = [0, -1]] = from;
    const [[last, lastEnd] = [0, -1]] = to;
    const isPair = from.length === 1 && to.length === 1 && first === firstEnd && last === lastEnd;
    if (!isPair || first > last) throw this.refusal('has a range out of order');
    return [[first, last]];
  }

  private escape(): CodePointSet {
    const next = this.characters[this.position++];
    if (next === undefined) throw this.refusal('ends with \\');
    const known = classEscapes[next];
    if (known !== undefined) return known;
    const control = controlEscapes[next];
    if (control !== undefined && !(next === '0' && /\d/.test(this.peek() ?? ''))) return [[control, control]];
    if (next === 'x') return this.hexadecimal(2);
    if (next === 'u') return this.unicodeEscape();
    if (next === 'c') {
      const letter = this.characters[this.position++] ?? '';
      if (!/^[A-Za-z]$/.test(letter)) throw this.refusal('has an unknown escape \\c');
      const code = letter.charCodeAt(0) % 32;
      return [[code, code]];
    }
    if (next === 'p' || next === 'P') return this.property(next);
    if (next === 'b' || next === 'B') throw this.refusal('uses a word boundary, which is not supported');
    if (/[1-9k]/.test(next)) throw this.refusal('uses a back reference, which is not supported');
    if (this.isForeign && /[<>]/.test(next)) throw this.refusal(`has \\${next}, the edge of a word elsewhere`);
    if (/[A-Za-z0-9]/.test(next)) throw this.refusal(`has an unknown escape \\${next}`);
    return single(next);
  }

  private property(escape: 'p' | 'P'): CodePointSet {
    const end = this.peek() === '{' ? this.characters.indexOf('}', this.position) : -1;
    const name = end < 0 ? '' : this.characters.slice(this.position + 1, end).join('');
    const set = codePointsWith(name);
    if (set === null) throw this.refusal(`names no Unicode property behind \\${escape}`);
    this.position = end + 1;
    return escape === 'p' ? set : complement(set);
  }

  private unicodeEscape(): CodePointSet {
    if (this.take('{')) {
      const end = this.characters.indexOf('}', this.position);
      const text = this.characters.slice(this.position, Math.max(end, this.position)).join('');
      const code = Number.parseInt(text, 16);
      if (!/^[0-9A-Fa-f]{1,6}$/.test(text) || code > lastCodePoint) throw this.refusal('has an unknown escape \\u');
      this.position = end + 1;
      return [[code, code]];
    }
    const [[high] = [0]] = this.hexadecimal(4);
    const isPair =
      high >= 0xd800 && high <= 0xdbff && this.peek() === '\\' && this.characters[this.position + 1] === 'u';
    if (!isPair) return [[high, high]];
    this.position += 2;
    const [[low] = [0]] = this.hexadecimal(4);
    const code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    return [[code, code]];
  }

  private hexadecimal(length: number): CodePointSet {
    const text = this.characters.slice(this.position, this.position + length).join('');
    if (text.length < length || !/^[0-9A-Fa-f]+$/.test(text)) throw this.refusal('has an escape without its digits');
    this.position += length;
    const code = Number.parseInt(text, 16);
    return [[code, code]];
  }
}

function single(character: string): CodePointSet {
  const code = character.codePointAt(0) ?? 0;
  return [[code, code]];
}
