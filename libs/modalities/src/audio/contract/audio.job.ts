import { Type } from 'class-transformer';
import {
  IsIn,
  IsInt,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  Max,
  MaxLength,
  Min,
  MinLength,
  ValidateNested,
} from '#platform/validation';
import { defineJob } from '#queue';

/** What results may be written as (contract 7). */
export const longAudioFormats = ['mp3', 'wav', 'flac'] as const;
export type LongAudioFormat = (typeof longAudioFormats)[number];

/** Longest text, in characters, where a model says nothing. */
export const usualPromptCharacters = 50_000;
/** Longest text that any model can be given, in UTF-16 units. */
const maxPromptUnits = 1_000_000;

/** What a piece of music is to be. */
export class MusicOptions {
  @IsNumber() @Min(1) seconds!: number;

  /** The same one gives the same piece. */
  @IsInt() seed!: number;
}

/** A sound to be made, as the worker sees it. */
export class AudioJobPayload {
  /** What is to be said, chapter by chapter; of music, what it is to be like. */
  @IsString() @MinLength(1) @MaxLength(maxPromptUnits) text!: string;

  /** One of the model's voices; null for music. */
  @IsOptional() @IsString() voice!: string | null;

  @IsNumber() @Min(0.25) @Max(4) speed!: number;

  /** Null: the voice's own. */
  @IsOptional() @IsString() language!: string | null;

  @IsIn(longAudioFormats) format!: LongAudioFormat;

  /** Absent or null: the text is said. */
  @IsOptional() @ValidateNested() @Type(() => MusicOptions) music?: MusicOptions | null;

  /** What the job uses when it succeeds, by the names of `audio.meter.ts`. */
  @IsObject() units!: Record<string, number>;
}

/** What a sound leaves behind in its outcome; the sound itself is an artifact. */
export class AudioJobResult {
  @IsNumber() @Min(0) seconds!: number;
}

/**
 * A worker that is lost takes no sound along: another one begins anew, once (gap 46). The half hour of gap 43 is what a job
 * gets for which nobody says more; the api says `SLUICE_MEDIA_DEADLINE_MS` (docs/decisions/media-deadline.md).
 */
export const audioJob = defineJob({
  modality: 'audio',
  payload: AudioJobPayload,
  result: AudioJobResult,
  policy: { attempts: 2, lockMs: 15_000, deadlineMs: 1_800_000, stalledMax: 1, concurrency: 1 },
  isAsync: true,
});
