import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { PlatformError } from '#common';

interface ClipTokenizerConfig {
  model_max_length?: number;
  pad_token?: string | { content: string };
}

const startToken = '<|startoftext|>';
const endToken = '<|endoftext|>';
const wordPattern = "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+";
const defaultLength = 77;

/**
 * Tokenizes text for a CLIP text encoder (https://arxiv.org/abs/2103.00020). Text is lower-cased, and byte-level pairs
 * carry an end-of-word mark. A start and an end token are added. The result is truncated and padded to the encoder's
 * fixed length.
 */
export class ClipTokenizer {
  private constructor(
    private readonly tokenizer: Tokenizer,
    private readonly ids: { start: number; end: number; padding: number },
    private readonly length: number,
  ) {}

  /** Reads a folder with `tokenizer_config.json`, `vocab.json` and `merges.txt`. */
  static async load(folder: string): Promise<ClipTokenizer> {
    const config = JSON.parse(await readText(folder, 'tokenizer_config.json')) as ClipTokenizerConfig;
    const vocabulary = JSON.parse(await readText(folder, 'vocab.json')) as Record<string, number>;
    const merges = parseMerges(await readText(folder, 'merges.txt'));
    const idOf = (token: string): number => {
      const id = vocabulary[token];
      if (id === undefined) throw new PlatformError('INVALID_MODEL', `The vocabulary has no token ${token}.`);
      return id;
    };
    const ids = { start: idOf(startToken), end: idOf(endToken), padding: idOf(paddingOf(config)) };
    const { model_max_length: length = defaultLength } = config;
    const file = tokenizerFile(vocabulary, merges, { id: ids.padding, content: paddingOf(config) });
    // Some configurations express "no limit" as a very large number.
    return new ClipTokenizer(new Tokenizer(file, {}), ids, length > 1_000 ? defaultLength : length);
  }

  /** Returns exactly as many ids as the encoder takes. */
  encode(text: string): number[] {
    const { start, end, padding } = this.ids;
    const words = this.tokenizer.encode(text, { add_special_tokens: false }).ids.slice(0, this.length - 2);
    const ids = [start, ...words, end];
    return [...ids, ...new Array<number>(this.length - ids.length).fill(padding)];
  }
}

async function readText(folder: string, name: string): Promise<string> {
  try {
    return await readFile(join(folder, name), 'utf8');
  } catch (cause) {
    throw new PlatformError('INVALID_MODEL', `The model's file ${name} is missing.`, null, { cause });
  }
}

function paddingOf({ pad_token: padding }: ClipTokenizerConfig): string {
  return (typeof padding === 'string' ? padding : padding?.content) ?? endToken;
}

function parseMerges(text: string): [string, string][] {
  const lines = text.split(/\r?\n/).filter((line) => line !== '' && !line.startsWith('#version'));
  return lines.map((line) => line.split(' ') as [string, string]);
}

/**
 * Returns this tokenizer in the library's own format. If a token other than the end token is the padding (SDXL's second
 * tokenizer: "!"), it is also a token of its own in text.
 */
function tokenizerFile(
  vocabulary: Record<string, number>,
  merges: [string, string][],
  padding: { id: number; content: string },
): object {
  const special = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
  return {
    version: '1.0',
    added_tokens: padding.content === endToken ? [] : [{ ...padding, ...special }],
    normalizer: {
      type: 'Sequence',
      normalizers: [
        { type: 'NFC' },
        { type: 'Replace', pattern: { Regex: '\\s+' }, content: ' ' },
        { type: 'Lowercase' },
      ],
    },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: wordPattern }, behavior: 'Removed', invert: true },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: null,
    model: {
      type: 'BPE',
      unk_token: endToken,
      continuing_subword_prefix: '',
      end_of_word_suffix: '</w>',
      fuse_unk: false,
      byte_fallback: false,
      vocab: vocabulary,
      merges,
    },
  };
}
