import { PlatformError } from '#common';
import type { TranslationRequest } from '../contract/translation.request.js';
import type { TimestampDetail, TranscriptionJobPayload } from '../contract/transcription.job.js';
import type { ModelManifest } from '#model-registry/manifest';
import type { TranscriptionFormat, TranscriptionRequest } from '../contract/transcription.request.js';

/** A normalized transcription request. */
export interface NormalizedTranscription {
  format: TranscriptionFormat;
  /** The text as server-sent events. */
  streams: boolean;
  /** Which times the response shows if the model reports them. */
  shown: { words: boolean; segments: boolean };
  /** The payload without the recording. */
  options: Omit<TranscriptionJobPayload, 'artifactId' | 'maxSeconds'>;
}

/** The options of a transcript with text only. */
export const plainTranscript: NormalizedTranscription['options'] = {
  language: null,
  prompt: null,
  temperature: null,
  timestamps: 'none',
};

const granularities = ['word', 'segment'];
const languageTag = /^([a-z]{2,3})(?:[-_][a-z0-9]{2,8})*$/i;

/** Throws `INVALID_REQUEST` naming the field. */
export function normalizeTranscription(body: TranscriptionRequest): NormalizedTranscription {
  const format = body.response_format ?? 'json';
  const shown = shownTimes(body, format);
  return {
    format,
    streams: streamsText(body, format),
    shown,
    options: {
      language: languageOf(body.language),
      prompt: body.prompt ?? null,
      temperature: body.temperature ?? null,
      timestamps: detailOf(shown, format),
    },
  };
}

/** Families of which some models translate and take a prompt; a model of theirs that cannot refuses for itself. */
const promptedFamilies = new Set(['whisper']);

/** Throws `INVALID_REQUEST` naming the option that the model cannot follow. */
export function requireSupported(
  { id, family, familyOptions }: Pick<ModelManifest, 'id' | 'family' | 'familyOptions'>,
  { translate, prompt, language }: NormalizedTranscription['options'],
): void {
  if (promptedFamilies.has(family)) return;
  if (translate === true) throw refusal(`The model ${id} transcribes and does not translate.`, 'model');
  if (prompt !== null && prompt.trim() !== '') throw refusal(`The model ${id} takes no prompt.`, 'prompt');
  const languages = family === 'moonshine' ? 'en' : familyOptions?.['languages'];
  if (language === null || typeof languages !== 'string') return;
  const known = languages.split(',').map((code) => code.trim());
  if (known.includes(language)) return;
  throw refusal(`The model ${id} does not know the language ${language}; it knows ${known.join(', ')}.`, 'language');
}

/** Throws as `normalizeTranscription` does. */
export function normalizeTranslation({ file, ...body }: TranslationRequest): NormalizedTranscription {
  const normalized = normalizeTranscription({ file, ...body });
  return { ...normalized, options: { ...normalized.options, translate: true } };
}

function shownTimes(body: TranscriptionRequest, format: TranscriptionFormat): NormalizedTranscription['shown'] {
  const granularityNames = body.timestamp_granularities ?? [];
  const unknown = granularityNames.find((name) => !granularities.includes(name));
  if (unknown !== undefined) {
    throw invalid('timestamp_granularities', `may hold ${granularities.join(' and ')}`);
  }
  if (format === 'verbose_json') {
    return {
      words: granularityNames.includes('word'),
      segments: granularityNames.length === 0 || granularityNames.includes('segment'),
    };
  }
  const both = format === 'json' && body.timestamps === true;
  return { words: both, segments: both };
}

/** The events of a stream hold text alone, so what asks for more is refused. */
function streamsText({ stream, timestamps }: TranscriptionRequest, format: TranscriptionFormat): boolean {
  if (stream !== true) return false;
  if (format !== 'json' && format !== 'text') throw invalid('stream', `must be false with response_format ${format}`);
  if (timestamps === true) throw invalid('stream', 'must be false with timestamps');
  return true;
}

function detailOf(shown: NormalizedTranscription['shown'], format: TranscriptionFormat): TimestampDetail {
  if (shown.words) return 'word';
  const needsSegments = shown.segments || format === 'srt' || format === 'vtt';
  return needsSegments ? 'segment' : 'none';
}

/** Names of recognizers for languages whose current codes are others. */
const recognizerNames: Readonly<Record<string, string>> = { jv: 'jw', nb: 'no', fil: 'tl' };

/** Returns `en` for `en-GB` and `eng`, and `he` for `iw`, as recognizers know them. Null if absent or empty. */
function languageOf(language: string | undefined): string | null {
  if (language === undefined || language === '') return null;
  const [, base] = languageTag.exec(language) ?? [];
  if (base === undefined) throw invalid('language', 'must be an ISO 639-1 code such as "en"');
  const code = new Intl.Locale(base).language;
  return recognizerNames[code] ?? code;
}

function invalid(field: string, problem: string): PlatformError {
  return refusal(`${field} ${problem}.`, field);
}

function refusal(message: string, param: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', message, param);
}
