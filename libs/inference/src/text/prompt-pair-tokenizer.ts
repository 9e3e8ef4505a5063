import type { Tokenizer } from '@huggingface/tokenizers';
import { PlatformError } from '#common';
import { ControlTokens } from './control-tokens.js';
import { readMarkedText } from './marked-text.js';
import { type EncodedPair, type OpenQuery, type PairEncoder, readWithin } from './pair-tokenizer.js';
import { loadTokenizer, padIdOf } from './text-tokenizer.js';
import { encodeInTime } from './word-patterns.js';

export interface PairPrompt {
  /** Text with `{query}`, then `{document}`, and perhaps `{instruction}` before the document. */
  template: string;
  /** The instruction that makes a document relevant; empty: the template has no place for it. */
  instruction: string;
}

/**
 * Joins a query and a document in a prompt, for decoders that answer whether they belong together. The special tokens
 * of the template are structure; such a token's text in a query, a document or the instruction is text.
 */
export class PromptPairTokenizer implements PairEncoder {
  readonly padId: number;
  private readonly control: ControlTokens;
  /** The prompt up to the query, between it and the document, and the ids behind the document. */
  private readonly before: string;
  private readonly between: string;
  private readonly behind: readonly number[];

  private constructor(
    private readonly tokenizer: Tokenizer,
    private readonly prompt: PairPrompt,
    padId: number,
  ) {
    const { template } = prompt;
    this.padId = padId;
    this.control = new ControlTokens(tokenizer.get_added_tokens_decoder().values(), [template]);
    readMarkedText(tokenizer, this.control);
    const [before, between, behind] = splitTemplate(template);
    this.before = before;
    this.between = between;
    this.behind = this.encode(behind);
  }

  /** Rejects with `INVALID_MANIFEST` for a template that lacks a place. */
  static async load(directory: string, prompt: PairPrompt): Promise<PromptPairTokenizer> {
    const { tokenizer, config } = await loadTokenizer(directory);
    return new PromptPairTokenizer(tokenizer, prompt, padIdOf(tokenizer, config));
  }

  open(query: string, maxTokens: number, instruction = this.prompt.instruction): OpenQuery {
    const marked = this.control.mark(instruction.toWellFormed());
    const [before, between] = [this.before, this.between].map((part) =>
      part.replaceAll(instructionPlace, () => marked),
    );
    const head = `${before}${this.control.mark(query.toWellFormed())}${between}`;
    // A space at the end belongs to the first word of the document.
    const { length } = readWithin(head.trimEnd(), maxTokens, (part) => this.encode(part));
    return {
      tokens: length,
      room: maxTokens - length - this.behind.length,
      join: (document, max) => this.join(head, document, length + max),
    };
  }

  private join(head: string, document: string, max: number): EncodedPair {
    const read = (part: string): number[] => this.encode(head + this.control.mark(part.toWellFormed()));
    const ids = Int32Array.from([...readWithin(document, max, read).slice(0, max), ...this.behind]);
    return { ids, types: new Int32Array(ids.length) };
  }

  private encode(text: string): number[] {
    return encodeInTime(text, () => this.tokenizer.encode(text, { add_special_tokens: false }).ids);
  }
}

const instructionPlace = '{instruction}';

function splitTemplate(template: string): [before: string, between: string, behind: string] {
  const [before = '', afterQuery, ...moreQueries] = template.split('{query}');
  const [between = '', behind, ...moreDocuments] = (afterQuery ?? '').split('{document}');
  const isWhole = afterQuery !== undefined && behind !== undefined;
  if (isWhole && moreQueries.length + moreDocuments.length === 0 && !behind.includes(instructionPlace)) {
    return [before, between, behind];
  }
  const message =
    'familyOptions.template must have one {query}, then one {document}, and no {instruction} behind them.';
  throw new PlatformError('INVALID_MANIFEST', message);
}
