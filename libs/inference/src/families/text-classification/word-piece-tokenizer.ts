import { readFile } from 'node:fs/promises';
import { Tokenizer } from '@huggingface/tokenizers';
import { PlatformError } from '#common';

/** Turns texts into ids of an uncased BERT vocabulary, without special tokens. */
export class WordPieceTokenizer {
  private constructor(
    private readonly tokenizer: Tokenizer,
    readonly start: number,
    readonly end: number,
  ) {}

  /** Reads a `vocab.txt`: one token per line, its id is the line. Throws `INVALID_MODEL` without `[CLS]` or `[SEP]`. */
  static async load(path: string): Promise<WordPieceTokenizer> {
    const tokens = (await readFile(path, 'utf8')).split('\n').map((line) => line.trimEnd());
    const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]).filter(([token]) => token !== ''));
    const idOf = (token: string): number => {
      const id: unknown = vocab[token];
      if (typeof id === 'number') return id;
      throw new PlatformError('INVALID_MODEL', `The vocabulary of this model has no ${token}.`);
    };
    const file = {
      added_tokens: [],
      post_processor: null,
      decoder: { type: 'WordPiece', prefix: '##', cleanup: false },
      normalizer: {
        type: 'BertNormalizer',
        clean_text: true,
        handle_chinese_chars: true,
        strip_accents: null,
        lowercase: true,
      },
      pre_tokenizer: { type: 'BertPreTokenizer' },
      model: {
        type: 'WordPiece',
        vocab,
        unk_token: '[UNK]',
        continuing_subword_prefix: '##',
        max_input_chars_per_word: 100,
      },
    };
    return new WordPieceTokenizer(new Tokenizer(file, {}), idOf('[CLS]'), idOf('[SEP]'));
  }

  encode(text: string): number[] {
    return this.tokenizer.encode(text, { add_special_tokens: false }).ids;
  }
}
