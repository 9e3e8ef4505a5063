import type { TranscriptSegment, TranscriptionEvent } from '../contract/transcription.events.js';
import type {
  TranscribedWord,
  TranscriptionResponse,
  VerboseTranscription,
  VideoTranscriptionResponse,
} from '../contract/transcription.response.js';
import type { NormalizedTranscription } from './transcription.normalizer.js';

/** A response body and its type. */
export interface TranscriptionResult {
  contentType: string;
  body: string | object;
}

const json = 'application/json; charset=utf-8';
const plain = 'text/plain; charset=utf-8';

/** Collects the events of one transcription. */
export class Transcript {
  readonly segments: TranscriptSegment[] = [];
  language: string | null = null;
  durationSeconds = 0;

  add(event: TranscriptionEvent): void {
    if (event.type === 'transcript-part') this.segments.push(...event.segments);
    else {
      this.language = event.language;
      this.durationSeconds = event.durationSeconds;
    }
  }

  get text(): string {
    return this.segments
      .map(({ text }) => text)
      .join('')
      .trim();
  }
}

export function presentTranscript(
  transcript: Transcript,
  { format, shown, options }: Pick<NormalizedTranscription, 'format' | 'shown'> & { options?: { translate?: boolean } },
): TranscriptionResult {
  switch (format) {
    case 'text':
      return { contentType: plain, body: transcript.text };
    case 'srt':
      return { contentType: plain, body: writeSrt(transcript.segments) };
    case 'vtt':
      return { contentType: 'text/vtt; charset=utf-8', body: writeVtt(transcript.segments) };
    case 'verbose_json':
      return { contentType: json, body: verbose(transcript, shown, options?.translate === true) };
    case 'json':
      return { contentType: json, body: short(transcript, shown) };
  }
}

/** The response of `POST /video/transcriptions`. */
export function presentVideoTranscript(transcript: Transcript, format: 'json' | 'text'): TranscriptionResult {
  if (format === 'text') return { contentType: plain, body: transcript.text };
  const body: VideoTranscriptionResponse = { transcript: transcript.text };
  if (transcript.language !== null) body.lang = transcript.language;
  return { contentType: json, body };
}

function short(transcript: Transcript, shown: NormalizedTranscription['shown']): TranscriptionResponse {
  const response: TranscriptionResponse = { text: transcript.text, duration: milliseconds(transcript.durationSeconds) };
  if (!shown.words && !shown.segments) return response;
  const words = shown.words ? wordsOf(transcript) : null;
  response.timestamps = {
    ...(words !== null && { word: words }),
    segment: transcript.segments.map((segment) => ({ text: segment.text.trim(), ...timesOf(segment) })),
  };
  return response;
}

function verbose(
  transcript: Transcript,
  shown: NormalizedTranscription['shown'],
  isTranslated: boolean,
): VerboseTranscription {
  const { durationSeconds, language, text } = transcript;
  const words = shown.words ? wordsOf(transcript) : null;
  return {
    task: isTranslated ? 'translate' : 'transcribe',
    language: languageName(isTranslated ? 'en' : language),
    duration: milliseconds(durationSeconds),
    text,
    ...(shown.segments && { segments: transcript.segments.map(verboseSegment) }),
    ...(words !== null && { words }),
    usage: { type: 'duration', seconds: Math.ceil(durationSeconds) },
  };
}

function verboseSegment(segment: TranscriptSegment, id: number): NonNullable<VerboseTranscription['segments']>[number] {
  return {
    id,
    seek: Math.round(segment.windowStart * 100),
    ...timesOf(segment),
    text: segment.text,
    tokens: segment.tokens,
    temperature: segment.temperature,
    avg_logprob: segment.avgLogprob,
    compression_ratio: segment.compressionRatio,
    no_speech_prob: segment.noSpeechProb,
  };
}

/** Returns null if the model reports no words; the response omits them without an error. */
function wordsOf({ segments }: Transcript): TranscribedWord[] | null {
  if (segments.every(({ words }) => words === null)) return null;
  return segments.flatMap(({ words }) => (words ?? []).map((word) => ({ word: word.word, ...timesOf(word) })));
}

const names = new Intl.DisplayNames('en', { type: 'language', fallback: 'code' });

function languageName(code: string | null): string {
  return code === null ? 'unknown' : (names.of(code) ?? code).toLowerCase();
}

function timesOf({ start, end }: { start: number; end: number }): { start: number; end: number } {
  return { start: milliseconds(start), end: milliseconds(end) };
}

function milliseconds(seconds: number): number {
  return Math.round(seconds * 1_000) / 1_000;
}

type Cue = Pick<TranscriptSegment, 'text' | 'start' | 'end'>;

/** SubRip: numbered cues, a comma before the milliseconds. */
export function writeSrt(segments: readonly Cue[]): string {
  return segments
    .map((cue, index) => `${index + 1}\n${clock(cue.start, ',')} --> ${clock(cue.end, ',')}\n${lineOf(cue)}\n`)
    .join('\n');
}

/** WebVTT. */
export function writeVtt(segments: readonly Cue[]): string {
  const cues = segments.map((cue) => `${clock(cue.start, '.')} --> ${clock(cue.end, '.')}\n${lineOf(cue)}\n`);
  return ['WEBVTT\n', ...cues].join('\n');
}

/** `00:01:02,500`; SubRip always has hours. */
function clock(seconds: number, separator: ',' | '.'): string {
  const whole = Math.max(0, Math.round(seconds * 1_000));
  const part = (divisor: number, size: number): string => String(Math.floor(whole / divisor) % size).padStart(2, '0');
  return `${part(3_600_000, 1_000)}:${part(60_000, 60)}:${part(1_000, 60)}${separator}${String(whole % 1_000).padStart(3, '0')}`;
}

/** A blank line would end the cue, and an arrow would start another. */
function lineOf({ text }: Cue): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ')
    .replaceAll('-->', '->');
}
