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

  /** Null: the dimensions of the model. */
  @IsOptional() @IsInt() @Min(1) dimensions!: number | null;
}

/** The result of an embedding job; the vectors go to the client only. */
export class EmbeddingJobResult {
  @IsInt() @Min(0) promptTokens!: number;
}

/** A lost worker does not lose the request: another worker computes the same vectors again. */
export const embeddingJob = defineJob({
  modality: 'embedding',
  payload: EmbeddingJobPayload,
  result: EmbeddingJobResult,
  policy: { attempts: 1, lockMs: 10_000, deadlineMs: 600_000, stalledMax: 1, concurrency: 64 },
});
