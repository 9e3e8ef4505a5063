import { ArrayMaxSize, ArrayMinSize, IsArray, IsInt, IsOptional, IsString, Min, MinLength } from '#platform/validation';
import { defineJob } from '#queue';

/** Maximum number of documents per request. */
export const maxDocuments = 1_000;

/** A question and the documents to order by it, as the worker sees them. */
export class RerankJobPayload {
  @IsString() @MinLength(1) query!: string;

  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(maxDocuments)
  @IsString({ each: true })
  @MinLength(1, { each: true })
  documents!: string[];

  /** Tokens after which a document is cut; null: where the model's limit cuts it. */
  @IsOptional() @IsInt() @Min(1) maxTokensPerDocument!: number | null;

  /**
   * The instruction that makes a document relevant; absent: that of the model's manifest. Only for models whose prompt has
   * a place for it.
   */
  @IsOptional() @IsString() @MinLength(1) instruction?: string;
}

/** The result of a rerank job; the scores go to the client only. */
export class RerankJobResult {
  @IsInt() @Min(0) promptTokens!: number;
}

/** A lost worker does not lose the request: another worker computes the same scores again. */
export const rerankJob = defineJob({
  modality: 'rerank',
  payload: RerankJobPayload,
  result: RerankJobResult,
  policy: { attempts: 1, lockMs: 10_000, deadlineMs: 600_000, stalledMax: 1, concurrency: 64 },
});
