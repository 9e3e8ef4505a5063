import { IsIn, IsNumber, IsOptional, IsString, Max, Min } from '#platform/validation';
import { defineJob } from '#queue';

export const timestampDetails = ['none', 'segment', 'word'] as const;
export type TimestampDetail = (typeof timestampDetails)[number];

/** A transcription as the worker sees it; the recording lies in the storage. */
export class TranscriptionJobPayload {
  @IsString() artifactId!: string;

  /** Seconds that were quoted; a recording that plays longer than its header says is refused there. */
  @IsNumber() @Min(0) maxSeconds!: number;

  /** ISO 639-1. Null: the model listens for it. */
  @IsOptional() @IsString() language!: string | null;

  @IsOptional() @IsString() prompt!: string | null;

  @IsOptional() @IsNumber() @Min(0) @Max(1) temperature!: number | null;

  @IsIn(timestampDetails) timestamps!: TimestampDetail;
}

/** What a transcription leaves behind in its outcome; the text itself goes to the caller alone. */
export class TranscriptionJobResult {
  @IsNumber() @Min(0) audioSeconds!: number;
}

/** A worker that is lost takes no recording along: another one begins anew. */
export const transcriptionJob = defineJob({
  modality: 'transcription',
  payload: TranscriptionJobPayload,
  result: TranscriptionJobResult,
  policy: { attempts: 1, lockMs: 10_000, deadlineMs: 1_800_000, stalledMax: 1, concurrency: 4 },
});
