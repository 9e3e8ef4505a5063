import { PlatformError } from '#common';
import type { TimestampDetail, TranscriptionJobPayload } from '../contract/transcription.job.js';
import type { TranscriptionFormat, TranscriptionRequest } from '../contract/transcription.request.js';

/** What the wire asked for, in the house's words. */
export interface NormalizedTranscription {
  format: TranscriptionFormat;
  /** Which times the answer shows, where the model tells them. */
  shown: { words: boolean; segments: boolean };
  /** All of the payload that does not come from the recording itself. */
  options: Omit<TranscriptionJobPayload, 'artifactId' | 'maxSeconds'>;
}

/** Of a transcript for which nothing was asked but the words. */
export const plainTranscript: NormalizedTranscription['options'] = {
  language: null,
  prompt: null,
  temperature: null,
  timestamps: 'none',
};

const granularities = ['word', 'segment'];
const languageTag = /^([a-z]{2,3})(?:[-_][a-z0-9]{2,8})*$/i;

/** Throws `INVALID_REQUEST` naming the field. */
export function normalizeTranscription(wire: TranscriptionRequest): NormalizedTranscription {
  const format = wire.response_format ?? 'json';
  const shown = shownTimes(wire, format);
  return {
    format,
    shown,
    options: {
      language: languageOf(wire.language),
      prompt: wire.prompt ?? null,
      temperature: wire.temperature ?? null,
      timestamps: detailOf(shown, format),
    },
  };
}

function shownTimes(wire: TranscriptionRequest, format: TranscriptionFormat): NormalizedTranscription['shown'] {
  const asked = wire.timestamp_granularities ?? [];
  const unknown = asked.find((name) => !granularities.includes(name));
  if (unknown !== undefined) {
    throw invalid('timestamp_granularities', `may hold ${granularities.join(' and ')}`);
  }
  if (format === 'verbose_json') {
    return { words: asked.includes('word'), segments: asked.length === 0 || asked.includes('segment') };
  }
  const both = format === 'json' && wire.timestamps === true;
  return { words: both, segments: both };
}

function detailOf(shown: NormalizedTranscription['shown'], format: TranscriptionFormat): TimestampDetail {
  if (shown.words) return 'word';
  const needsSegments = shown.segments || format === 'srt' || format === 'vtt';
  return needsSegments ? 'segment' : 'none';
}

/** `en` of `en-GB`; an empty text is none, as forms send what was not filled in. */
function languageOf(language: string | undefined): string | null {
  if (language === undefined || language === '') return null;
  const [, base] = languageTag.exec(language) ?? [];
  if (base === undefined) throw invalid('language', 'must be an ISO 639-1 code such as "en"');
  return base.toLowerCase();
}

function invalid(field: string, problem: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', `${field} ${problem}.`, field);
}
