import { join } from 'node:path';
import { PlatformError } from '#common';
import { readJsonIfPresent, TextTokenizer } from '../../text/index.js';

/** Members of generation_config.json and config.json that the family reads. */
export interface WhisperSettings {
  suppress_tokens?: number[] | null;
  begin_suppress_tokens?: number[] | null;
  max_initial_timestamp_index?: number | null;
  /** Pairs of layer and head whose cross attention follows the audio. */
  alignment_heads?: [number, number][] | null;
  /** Maximum length of prompt plus text, in tokens. */
  max_target_positions?: number;
  num_mel_bins?: number;
  median_filter_width?: number;
}

/** Default of the reference: text may begin up to one second into its window. */
const defaultFirstTimestamp = 50;

/** Special tokens of Whisper, and conversion between text and tokens. */
export class WhisperTokens {
  readonly endOfText: number;
  readonly startOfTranscript: number;
  readonly noTimestamps: number;
  readonly noSpeech: number;
  /** Token of 0.00 s; each following one is 0.02 s later. */
  readonly timestampBegin: number;
  /** By ISO 639 code; empty for English-only models. */
  readonly languages: ReadonlyMap<string, number>;
  private readonly transcribe: number | null;
  private readonly translate: number | null;
  private readonly startOfPrevious: number | null;

  constructor(
    private readonly tokenizer: TextTokenizer,
    readonly settings: WhisperSettings,
  ) {
    this.endOfText = this.required('<|endoftext|>');
    this.startOfTranscript = this.required('<|startoftranscript|>');
    this.noTimestamps = this.required('<|notimestamps|>');
    this.timestampBegin = this.noTimestamps + 1;
    this.transcribe = tokenizer.idOf('<|transcribe|>');
    this.translate = tokenizer.idOf('<|translate|>');
    this.startOfPrevious = tokenizer.idOf('<|startofprev|>');
    this.noSpeech =
      tokenizer.idOf('<|nospeech|>') ?? tokenizer.idOf('<|nocaptions|>') ?? this.required('<|notimestamps|>') - 1;
    this.languages = this.findLanguages();
  }

  static async load(directory: string): Promise<WhisperTokens> {
    const [tokenizer, config, generation] = await Promise.all([
      TextTokenizer.load(directory),
      readJsonIfPresent<WhisperSettings>(join(directory, 'config.json')),
      readJsonIfPresent<WhisperSettings>(join(directory, 'generation_config.json')),
    ]);
    return new WhisperTokens(tokenizer, { ...config, ...generation });
  }

  get isMultilingual(): boolean {
    return this.languages.size > 0;
  }

  get suppressed(): readonly number[] {
    return this.settings.suppress_tokens ?? [];
  }

  get suppressedFirst(): readonly number[] {
    return this.settings.begin_suppress_tokens ?? [];
  }

  get maxFirstTimestamp(): number {
    return this.settings.max_initial_timestamp_index ?? defaultFirstTimestamp;
  }

  /** Returns the tokens before the text: language, then the task. Throws `INVALID_REQUEST` for what it cannot do. */
  startSequence(language: string | null, { translate = false }: { translate?: boolean } = {}): number[] {
    if (translate && (!this.isMultilingual || this.translate === null)) {
      throw new PlatformError('INVALID_REQUEST', 'This model knows English only and does not translate.', 'model');
    }
    if (!this.isMultilingual) return [this.startOfTranscript];
    const languageToken = this.languages.get(language ?? 'en');
    const task = translate ? this.translate : this.transcribe;
    if (languageToken === undefined || task === null) {
      throw new PlatformError('INVALID_REQUEST', `This model does not know the language ${language}.`, 'language');
    }
    return [this.startOfTranscript, languageToken, task];
  }

  /** Returns the last `max` tokens of the text that precedes the recording. */
  promptTokens(prompt: string | null, max: number): number[] {
    const text = prompt?.trim() ?? '';
    if (text === '' || this.startOfPrevious === null) return [];
    return [this.startOfPrevious, ...this.tokenizer.encodePlain(` ${text}`).slice(-max)];
  }

  /** Returns the text of tokens without timestamps and other special tokens. */
  decode(ids: readonly number[]): string {
    return this.tokenizer.decode(ids.filter((id) => id < this.endOfText));
  }

  isTimestamp(id: number): boolean {
    return id >= this.timestampBegin;
  }

  private required(name: string): number {
    const id = this.tokenizer.idOf(name);
    if (id === null) throw new PlatformError('INVALID_MODEL', `The model's tokenizer has no ${name}.`);
    return id;
  }

  private findLanguages(): Map<string, number> {
    const languages = new Map<string, number>();
    if (this.transcribe === null) return languages;
    // Languages are the tokens between the start of the transcript and the tasks.
    for (let id = this.startOfTranscript + 1; id < this.transcribe; id++) {
      const [, code] = /^<\|([a-z]{2,3})\|>$/.exec(this.tokenizer.describeToken(id).token) ?? [];
      if (code !== undefined) languages.set(code, id);
    }
    return languages;
  }
}
