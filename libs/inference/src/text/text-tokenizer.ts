import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Tokenizer } from '@huggingface/tokenizers';
import { PlatformError } from '#common';
import { errorText } from '#common/values';
import { readIfPresent } from '#platform/files';
import { ByteDetokenizer, type Detokenizer, WindowDetokenizer } from './detokenizer.js';
import { ControlTokens } from './control-tokens.js';
import { readMarkedText } from './marked-text.js';
import { compileTokenBytes, type TokenBytes } from './token-bytes.js';
import { TokenBudget } from './token-budget.js';
import { encodeInTime, newTokenizer } from './word-patterns.js';
import { splitIntoWords, type SplittableFile } from './word-splitter.js';

/** Members of tokenizer_config.json and special_tokens_map.json that are read here. */
export interface TokenizerConfig {
  bos_token?: SpecialToken | null;
  eos_token?: SpecialToken | null;
  unk_token?: SpecialToken | null;
  pad_token?: SpecialToken | null;
  add_bos_token?: boolean;
  chat_template?: string | { name: string; template: string }[] | null;
}

const tokenizerFile = 'tokenizer.json';

type SpecialToken = string | { content: string };

/** Members of tokenizer.json that are read here; the library reads the rest. */
export interface TokenizerFile extends SplittableFile {
  added_tokens?: { id: number; content: string; special?: boolean }[];
  decoder?: unknown;
}

/** Special tokens; null for those that the model lacks. */
export interface SpecialTokens {
  bos: string | null;
  eos: string | null;
  unk: string | null;
  pad: string | null;
}

/** Converts text to token ids and back, by a model's `tokenizer.json`. */
export class TextTokenizer {
  readonly special: SpecialTokens;
  readonly bosTokenId: number | null;
  readonly eosTokenId: number | null;
  /** True if this tokenizer adds a BOS before every text. */
  readonly addsBos: boolean;
  /** Bytes of the longest token: a text of `b` bytes has at least `b / longestTokenBytes` tokens. */
  readonly longestTokenBytes: number;
  /** Marks text of callers, which `encode` then reads as text only. */
  readonly control: ControlTokens;
  private readonly specialIds: ReadonlySet<number>;
  private readonly bytes: TokenBytes | null;
  private readonly budget: TokenBudget;

  constructor(
    private readonly tokenizer: Tokenizer,
    file: TokenizerFile,
    config: TokenizerConfig,
    delimiters: readonly string[] = [],
    template: string | null = null,
  ) {
    this.special = {
      bos: contentOf(config.bos_token),
      eos: contentOf(config.eos_token),
      unk: contentOf(config.unk_token),
      pad: contentOf(config.pad_token),
    };
    this.bosTokenId = this.idOf(this.special.bos);
    this.eosTokenId = this.idOf(this.special.eos);
    const added = file.added_tokens ?? [];
    const isHidden = ({ content }: { content: string }): boolean => !delimiters.some((text) => text.includes(content));
    this.specialIds = new Set(added.filter((token) => token.special === true && isHidden(token)).map(({ id }) => id));
    this.addsBos = this.bosTokenId !== null && (config.add_bos_token ?? this.prefixesBos());
    splitIntoWords(tokenizer, file);
    this.control = new ControlTokens(added, template === null ? delimiters : [...delimiters, template]);
    readMarkedText(tokenizer, this.control);
    this.budget = new TokenBudget(tokenizer);
    this.bytes = compileTokenBytes(tokenizer, file.decoder ?? null, this.specialIds);
    // Special tokens have no bytes in the table, but a prompt may consist of them.
    const longestAdded = added.reduce((max, { content }) => Math.max(max, Buffer.byteLength(content)), 1);
    this.longestTokenBytes = this.bytes?.table.reduce((max, bytes) => Math.max(max, bytes.length), longestAdded) ?? 256;
  }

  /**
   * `delimiters`: texts that consist of special tokens and are part of the output all the same. `template`: the source of
   * the chat template, which may name further control tokens.
   */
  static async load(
    directory: string,
    delimiters: readonly string[] = [],
    template: string | null = null,
  ): Promise<TextTokenizer> {
    const text = await readFile(join(directory, tokenizerFile), 'utf8');
    const config = await loadTokenizerConfig(directory);
    try {
      return TextTokenizer.fromFiles(JSON.parse(text) as TokenizerFile, config, delimiters, template);
    } catch (error) {
      if (error instanceof PlatformError) throw error;
      // The library's own message would not say which file it is about.
      const reason = errorText(error);
      const message = `The file ${tokenizerFile} cannot be used: ${reason}`;
      throw new PlatformError('INVALID_MODEL', message, tokenizerFile, { cause: error });
    }
  }

  static fromFiles(
    file: TokenizerFile,
    config: TokenizerConfig,
    delimiters: readonly string[] = [],
    template: string | null = null,
  ): TextTokenizer {
    return new TextTokenizer(newTokenizer(file, config), file, config, delimiters, template);
  }

  /**
   * Returns the ids of a prompt. If the tokenizer adds a BOS, exactly one is at the start, whether or not the text
   * already begins with it. Nothing is added at the end.
   */
  encodePrompt(text: string): Int32Array {
    return this.withBos(this.encode(text));
  }

  /** Adds the BOS of a prompt to the ids of a text. */
  withBos(ids: readonly number[]): Int32Array {
    if (!this.addsBos || this.bosTokenId === null || ids[0] === this.bosTokenId) return Int32Array.from(ids);
    const withBos = new Int32Array(ids.length + 1);
    withBos[0] = this.bosTokenId;
    withBos.set(ids, 1);
    return withBos;
  }

  /** Returns the ids of a text, which may be marked. No special tokens are added. */
  encode(text: string): number[] {
    if (text === '') return [];
    return encodeInTime(text, () => this.tokenizer.encode(text, { add_special_tokens: false }).ids);
  }

  /** Returns the ids of a caller's text, of which none is a control token. */
  encodePlain(text: string): number[] {
    return this.encode(this.control.mark(text.toWellFormed()));
  }

  /** Bytes of a text, which may be marked. */
  byteLength(text: string): number {
    return Buffer.byteLength(this.control.unmark(text));
  }

  /**
   * Returns the ids of the text; null if they are clearly more than `limit`, which is detected before all are found.
   */
  encodeWithin(text: string, limit: number): number[] | null {
    // Most prompts are short, and no character has more than three tokens.
    return text.length * 2 <= limit ? this.encode(text) : this.budget.within(limit, () => this.encode(text));
  }

  /** Returns the whole text of the tokens without special tokens. */
  decode(ids: readonly number[], { stripLeadingSpaces = false } = {}): string {
    const detokenizer = this.detokenizer({ stripLeadingSpaces });
    return ids.map((id) => detokenizer.push(id)).join('') + detokenizer.flush();
  }

  /**
   * Creates a decoder for one text. A response drops the space that such decoders put at the start of a text; a
   * continuation keeps it.
   */
  detokenizer({ stripLeadingSpaces }: { stripLeadingSpaces: boolean }): Detokenizer {
    if (this.bytes !== null) return new ByteDetokenizer(this.bytes, { stripLeadingSpaces });
    return new WindowDetokenizer((ids) => this.decodeWindow(ids));
  }

  /** Bytes of every token by its id, empty for special ones; null where a token's text depends on its neighbors. */
  get tokenBytes(): readonly Uint8Array[] | null {
    return this.bytes?.table ?? null;
  }

  /** Describes a token for log-probabilities: its text, and its bytes if known. */
  describeToken(id: number): { token: string; bytes: number[] | null } {
    const name = this.tokenizer.id_to_token(id) ?? '';
    if (this.specialIds.has(id)) return { token: name, bytes: [...new TextEncoder().encode(name)] };
    const bytes = this.bytes?.table[id];
    if (bytes === undefined) return { token: name, bytes: null };
    const text = this.bytes?.texts[id] ?? escapedBytes(bytes);
    return { token: text, bytes: [...bytes] };
  }

  /** Whether any token has this id. */
  has(id: number): boolean {
    return this.tokenizer.id_to_token(id) !== undefined;
  }

  idOf(token: string | null): number | null {
    return token === null ? null : (this.tokenizer.token_to_id(token) ?? null);
  }

  private decodeWindow(ids: number[]): string {
    const visible = ids.filter((id) => !this.specialIds.has(id));
    return visible.length === 0 ? '' : this.tokenizer.decode(visible, { clean_up_tokenization_spaces: false });
  }

  private prefixesBos(): boolean {
    return this.tokenizer.encode('a', { add_special_tokens: true }).ids[0] === this.bosTokenId;
  }
}

/** Reads tokenizer_config.json, completed from special_tokens_map.json; both may be missing. */
export async function loadTokenizerConfig(directory: string): Promise<TokenizerConfig> {
  const [config, special] = await Promise.all([
    readJsonIfPresent<TokenizerConfig>(join(directory, 'tokenizer_config.json')),
    readJsonIfPresent<TokenizerConfig>(join(directory, 'special_tokens_map.json')),
  ]);
  return { ...special, ...config };
}

/** Opens the tokenizer of a model. */
export async function loadTokenizer(directory: string): Promise<{ tokenizer: Tokenizer; config: TokenizerConfig }> {
  const file = JSON.parse(await readFile(join(directory, tokenizerFile), 'utf8')) as TokenizerFile;
  const config = await loadTokenizerConfig(directory);
  return { tokenizer: newTokenizer(file, config), config };
}

/** Returns the id that fills up short rows of a batch; 0 if the tokenizer names none. */
export function padIdOf(tokenizer: Tokenizer, { pad_token: pad }: TokenizerConfig): number {
  const name = contentOf(pad);
  return (name === null ? undefined : tokenizer.token_to_id(name)) ?? 0;
}

/** Reads a JSON file of a model; null if it does not exist. A damaged file is an error. */
export async function readJsonIfPresent<Content>(path: string): Promise<Content | null> {
  const text = await readTextIfPresent(path);
  if (text === null) return null;
  try {
    return JSON.parse(text) as Content;
  } catch (error) {
    const name = basename(path);
    throw new PlatformError('INVALID_MODEL', `The file ${name} cannot be used: it is not JSON.`, name, {
      cause: error,
    });
  }
}

export async function readTextIfPresent(path: string): Promise<string | null> {
  return (await readIfPresent(path))?.toString('utf8') ?? null;
}

function contentOf(token: SpecialToken | null | undefined): string | null {
  if (token === null || token === undefined) return null;
  return typeof token === 'string' ? token : token.content;
}

/** Formats bytes that are not valid text as `bytes:\xe4\xbd`, as OpenAI does. */
function escapedBytes(bytes: Uint8Array): string {
  return `bytes:${[...bytes].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}`;
}
