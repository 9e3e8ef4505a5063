import { IsBoolean, IsIn, IsNumber, IsOptional, IsString, Max, Min } from '#platform/validation';
import { defineJob } from '#queue';

export const timestampDetails = ['none', 'segment', 'word'] as const;
export type TimestampDetail = (typeof timestampDetails)[number];

/** A transcription as the worker sees it; the recording is a stored artifact. */
export class TranscriptionJobPayload {
  @IsString() artifactId!: string;

  /** Quoted seconds; a recording that plays longer than its header says is refused there. */
  @IsNumber() @Min(0) maxSeconds!: number;

  /** ISO 639-1. Null: the model detects it. */
  @IsOptional() @IsString() language!: string | null;

  @IsOptional() @IsString() prompt!: string | null;

  @IsOptional() @IsNumber() @Min(0) @Max(1) temperature!: number | null;

  @IsIn(timestampDetails) timestamps!: TimestampDetail;

  /** English text, whatever is spoken; absent: a transcript. Optional for good. */
  @IsOptional() @IsBoolean() translate?: boolean;

  /** Whether a recording in which nobody speaks has an empty transcript; otherwise it is refused. Optional for good. */
  @IsOptional() @IsBoolean() mayBeSilent?: boolean;
}

/** The result of a transcription job; the text itself goes to the client only. */
export class TranscriptionJobResult {
  @IsNumber() @Min(0) audioSeconds!: number;
}

/** A lost worker does not lose the recording: another worker starts again. */
export const transcriptionJob = defineJob({
  modality: 'transcription',
  payload: TranscriptionJobPayload,
  result: TranscriptionJobResult,
  policy: { attempts: 1, lockMs: 10_000, deadlineMs: 1_800_000, stalledMax: 1, concurrency: 4 },
});
