import { IsIn, IsInt, IsNumber, IsOptional, IsString, Max, MaxLength, Min, MinLength } from '#platform/validation';
import { defineJob } from '#queue';

export const speechFormats = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const;
export type SpeechFormat = (typeof speechFormats)[number];

/** A text to be said, as the worker sees it. */
export class SpeechJobPayload {
  /** The bound is in UTF-16 units, of which a character has two at most. */
  @IsString() @MinLength(1) @MaxLength(16_384) text!: string;

  /** One of the model's voices. Null: that of the recording `sampleId`. */
  @IsOptional() @IsString() voice!: string | null;

  /** A recording in the storage, for models that clone voices. */
  @IsOptional() @IsString() sampleId!: string | null;

  @IsNumber() @Min(0.25) @Max(4) speed!: number;

  /** Null: the voice's own. */
  @IsOptional() @IsString() language!: string | null;

  @IsIn(speechFormats) format!: SpeechFormat;
}

/** What speech leaves behind in its outcome; the sound itself goes to the caller alone. */
export class SpeechJobResult {
  @IsInt() @Min(0) characters!: number;
}

/** Whole answers survive one worker; of streams the caller already holds a part. */
export const speechJob = defineJob({
  modality: 'speech',
  payload: SpeechJobPayload,
  result: SpeechJobResult,
  policy: { attempts: 1, lockMs: 10_000, deadlineMs: 600_000, stalledMax: 1, concurrency: 4 },
});
