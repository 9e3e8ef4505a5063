import { invalidField } from '#gateway';
import type { ChatJobTextFormat } from '../../contract/chat.job.js';
import type { ChatCustomFormat } from '../../contract/chat.tools.js';

/** Name of the only argument of a function that stands for a custom tool. */
const argument = 'input';

/** Arguments of the function that stands for a custom tool. */
export const customParameters = {
  type: 'object',
  properties: { [argument]: { type: 'string' } },
  required: [argument],
  additionalProperties: false,
};

/** Longest definitions of a format, in characters. */
const maxDefinitionLength = { regex: 4_000, lark: 64_000 };

/** The format of a custom tool's input; null for any text. Throws `INVALID_REQUEST` naming the field below `field`. */
export function customFormat(format: ChatCustomFormat | null | undefined, field: string): ChatJobTextFormat | null {
  const { type, grammar } = format ?? { type: 'text' };
  if (type === 'text') return null;
  if (!grammar) throw invalidField(`${field}.grammar is required.`, `${field}.grammar`, 'required');
  const { syntax, definition } = grammar;
  const max = maxDefinitionLength[syntax];
  if (definition.length <= max) return { argument, syntax, definition };
  const place = `${field}.grammar.definition`;
  throw invalidField(`${place} must not be longer than ${max} characters.`, place, 'too_big');
}

export function customArguments(input: string): string {
  return JSON.stringify({ [argument]: input });
}

const escapes: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/**
 * Reads the input of a custom tool from the arguments of its function, `{"input":"…"}`, which come in fragments. The
 * sampler lets no other document be written.
 */
export class CustomInputReader {
  private place: 'name' | 'blank' | 'text' | 'end' = 'name';
  /** An escape sequence that is not complete, or half of a surrogate pair. */
  private held = '';

  /** Returns the text of a fragment that is certain. */
  push(fragment: string): string {
    let text = '';
    for (const character of fragment) text += this.take(character);
    return text;
  }

  private take(character: string): string {
    if (this.place === 'name') {
      if (character === ':') this.place = 'blank';
    } else if (this.place === 'blank') {
      if (character === '"') this.place = 'text';
    } else if (this.place === 'text') {
      return this.read(character);
    }
    return '';
  }

  private read(character: string): string {
    // The second half of a pair follows as an escape sequence of its own.
    const open = this.held.lastIndexOf('\\');
    if (this.held === '' || open < 0) {
      if (character === '\\') this.held += character;
      else if (character === '"') this.place = 'end';
      else return this.release() + character;
      return '';
    }
    const sequence = this.held.slice(open) + character;
    const first = this.held.slice(0, open);
    if (sequence.length === 2 && character !== 'u') {
      this.held = '';
      return first + (escapes[character] ?? character);
    }
    this.held = first + sequence;
    if (sequence.length < 6) return '';
    const unit = String.fromCharCode(Number.parseInt(sequence.slice(2), 16));
    const isHigh = unit >= '\ud800' && unit <= '\udbff';
    this.held = isHigh ? unit : '';
    if (isHigh) return first;
    return first + unit;
  }

  private release(): string {
    const { held } = this;
    this.held = '';
    return held;
  }
}
