/** Where a text stops being JSON. `position` counts UTF-16 units from 0; line and column count from 1. */
export interface JsonFault {
  position: number;
  line: number;
  column: number;
  problem: string;
}

const whitespace = /[ \t\n\r]*/y;
const numberToken = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const literalToken = /true|false|null/y;
const escapedCharacter = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
const quote = 0x22;
const backslash = 0x5c;

type Expectation = 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'colon' | 'comma-or-end' | 'nothing';

/** Scans JSON without building a value; iterative, so that deep nesting cannot overflow the stack. */
class JsonReader {
  private position = 0;
  private expectation: Expectation = 'value';
  private insideString = false;
  private readonly open: ('{' | '[')[] = [];

  constructor(private readonly text: string) {}

  /** Returns the position of the first error, or null. */
  run(): { position: number; problem: string } | null {
    for (;;) {
      this.skip(whitespace);
      if (this.position >= this.text.length) {
        return this.expectation === 'nothing' ? null : { position: this.position, problem: 'unexpected end' };
      }
      if (!this.step()) return this.fault();
    }
  }

  private skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.position;
    if (!pattern.test(this.text)) return false;
    this.position = pattern.lastIndex;
    return true;
  }

  private fault(): { position: number; problem: string } {
    if (!this.insideString) return { position: this.position, problem: 'an unexpected character' };
    const ended = this.position >= this.text.length;
    return { position: this.position, problem: ended ? 'unexpected end of a string' : 'a bad character in a string' };
  }

  /** Scanned by hand: a repeated regex group over megabytes overflows the regex engine's stack. */
  private skipString(): boolean {
    if (this.text.charCodeAt(this.position) !== quote) return false;
    this.insideString = true;
    this.position += 1;
    while (this.position < this.text.length) {
      const unit = this.text.charCodeAt(this.position);
      if (unit === backslash) {
        if (!this.skip(escapedCharacter)) return false;
        continue;
      }
      if (unit < 0x20) return false;
      this.position += 1;
      if (unit === quote) {
        this.insideString = false;
        return true;
      }
    }
    return false;
  }

  private step(): boolean {
    const character = this.text[this.position];
    switch (this.expectation) {
      case 'value':
      case 'value-or-end':
        return this.value(character, this.expectation === 'value-or-end');
      case 'key':
      case 'key-or-end':
        if (character === '}' && this.expectation === 'key-or-end') return this.close('{');
        return this.skipString() && this.expect('colon');
      case 'colon':
        return character === ':' && this.take('value');
      case 'comma-or-end':
        return this.separator(character);
      case 'nothing':
        return false;
    }
  }

  private value(character: string | undefined, mayEnd: boolean): boolean {
    if (character === '{' || character === '[') {
      this.open.push(character);
      return this.take(character === '{' ? 'key-or-end' : 'value-or-end');
    }
    if (character === ']' && mayEnd) return this.close('[');
    return this.scalar(character) && this.expect(this.open.length === 0 ? 'nothing' : 'comma-or-end');
  }

  private scalar(character: string | undefined): boolean {
    if (character === '"') return this.skipString();
    return this.skip(character === '-' || /\d/.test(character ?? '') ? numberToken : literalToken);
  }

  private separator(character: string | undefined): boolean {
    const inside = this.open.at(-1);
    if (character === ',') return this.take(inside === '{' ? 'key' : 'value');
    return inside === '{' ? character === '}' && this.close('{') : character === ']' && this.close('[');
  }

  private close(kind: '{' | '['): boolean {
    if (this.open.pop() !== kind) return false;
    return this.take(this.open.length === 0 ? 'nothing' : 'comma-or-end');
  }

  private take(next: Expectation): boolean {
    this.position += 1;
    return this.expect(next);
  }

  private expect(next: Expectation): boolean {
    this.expectation = next;
    return true;
  }
}

/**
 * Locates the first error of a text that `JSON.parse` rejected. Never quotes the text, because bodies must not appear
 * in messages.
 */
export function findJsonFault(text: string): JsonFault {
  const found = new JsonReader(text).run() ?? { position: text.length, problem: 'unexpected end' };
  const before = text.slice(0, found.position);
  const line = before.split('\n').length;
  return { ...found, line, column: found.position - before.lastIndexOf('\n') };
}
