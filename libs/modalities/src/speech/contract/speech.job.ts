import { IsIn, IsInt, IsNumber, IsOptional, IsString, Max, MaxLength, Min, MinLength } from '#platform/validation';
import { defineJob } from '#queue';

export const speechFormats = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const;
export type SpeechFormat = (typeof speechFormats)[number];

/** A text to speak, as the worker sees it. */
export class SpeechJobPayload {
  /** The limit is in UTF-16 code units, of which a character has at most two. */
  @IsString() @MinLength(1) @MaxLength(16_384) text!: string;

  /** One of the model's voices. Null: the voice of the recording `sampleId`. */
  @IsOptional() @IsString() voice!: string | null;

  /** A stored recording, for models that clone voices. */
  @IsOptional() @IsString() sampleId!: string | null;

  @IsNumber() @Min(0.25) @Max(4) speed!: number;

  /** Null: the default of the voice. */
  @IsOptional() @IsString() language!: string | null;

  @IsIn(speechFormats) format!: SpeechFormat;
}

/** The result of a speech job; the audio itself goes to the client only. */
export class SpeechJobResult {
  @IsInt() @Min(0) characters!: number;
}

/** A complete response survives the loss of one worker; of a stream the client already holds a part. */
export const speechJob = defineJob({
  modality: 'speech',
  payload: SpeechJobPayload,
  result: SpeechJobResult,
  policy: { attempts: 1, lockMs: 10_000, deadlineMs: 600_000, stalledMax: 1, concurrency: 4 },
});
