import { ArrayMaxSize, ArrayMinSize, IsArray, IsInt, IsOptional, IsString, Min, MinLength } from '#platform/validation';
import { defineJob } from '#queue';

/** Texts to embed, as the worker sees them. */
export class EmbeddingJobPayload {
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(2_048)
  @IsString({ each: true })
  @MinLength(1, { each: true })
  texts!: string[];

  /** Null: as many as the model has. */
  @IsOptional() @IsInt() @Min(1) dimensions!: number | null;
}

/** What an embedding job leaves behind in its outcome; the vectors go to the caller alone. */
export class EmbeddingJobResult {
  @IsInt() @Min(0) promptTokens!: number;
}

/** A worker that is lost takes no request along: another one computes its vectors again, and they are the same. */
export const embeddingJob = defineJob({
  modality: 'embedding',
  payload: EmbeddingJobPayload,
  result: EmbeddingJobResult,
  policy: { attempts: 1, lockMs: 10_000, deadlineMs: 600_000, stalledMax: 1, concurrency: 64 },
});
