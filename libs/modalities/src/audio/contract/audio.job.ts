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

/** Formats a result can have. */
export const longAudioFormats = ['mp3', 'wav', 'flac'] as const;
export type LongAudioFormat = (typeof longAudioFormats)[number];

/** Default maximum length of a text, in characters, for models that do not set one. */
export const defaultPromptCharacters = 50_000;
/** Maximum length of a text for any model, in UTF-16 code units. */
const maxPromptUnits = 1_000_000;

/** Description of a piece of music. */
export class MusicOptions {
  @IsNumber() @Min(1) seconds!: number;

  /** The same seed produces the same piece. */
  @IsInt() seed!: number;
}

/** An audio job as the worker sees it. */
export class AudioJobPayload {
  /** The text to speak, by chapter; for music, the prompt. */
  @IsString() @MinLength(1) @MaxLength(maxPromptUnits) text!: string;

  /** One of the model's voices; null for music. */
  @IsOptional() @IsString() voice!: string | null;

  @IsNumber() @Min(0.25) @Max(4) speed!: number;

  /** Null: the default of the voice. */
  @IsOptional() @IsString() language!: string | null;

  @IsIn(longAudioFormats) format!: LongAudioFormat;

  /** Absent or null: the job is speech. */
  @IsOptional() @ValidateNested() @Type(() => MusicOptions) music?: MusicOptions | null;

  /** Units the job uses if it succeeds, named as in `audio.meter.ts`. */
  @IsObject() units!: Record<string, number>;
}

/** The result of an audio job; the audio itself is an artifact. */
export class AudioJobResult {
  @IsNumber() @Min(0) seconds!: number;
}

/**
 * A lost worker does not lose the job: another worker starts it again, once. The default deadline is half an hour; the
 * api sets `SLUICE_MEDIA_DEADLINE_MS` (docs/decisions/media-deadline.md).
 */
export const audioJob = defineJob({
  modality: 'audio',
  payload: AudioJobPayload,
  result: AudioJobResult,
  policy: { attempts: 2, lockMs: 15_000, deadlineMs: 1_800_000, stalledMax: 1, concurrency: 1 },
  isAsync: true,
});
