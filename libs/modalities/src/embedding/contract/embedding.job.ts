import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsInt,
  IsOptional,
  IsString,
  Min,
  MinLength,
  ValidateBy,
} from '#platform/validation';
import { defineJob } from '#queue';

function HasInput(): PropertyDecorator {
  return ValidateBy({
    name: 'hasInput',
    validator: {
      validate: (value: unknown, details) =>
        (Array.isArray(value) && value.length > 0) ||
        (details?.object as Partial<EmbeddingJobPayload>)?.tokenIds !== undefined,
      defaultMessage: () => '$property must not be empty',
    },
  });
}

function IsTokenLists(): PropertyDecorator {
  return ValidateBy({
    name: 'isTokenLists',
    validator: {
      validate: (value: unknown) =>
        Array.isArray(value) && value.every((ids) => Array.isArray(ids) && ids.length > 0 && ids.every(isTokenId)),
      defaultMessage: () => '$property must be lists of token ids',
    },
  });
}

function isTokenId(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0;
}

/** Texts to embed, as the worker sees them. */
export class EmbeddingJobPayload {
  /** Empty only beside `tokenIds`. */
  @IsArray()
  @HasInput()
  @ArrayMaxSize(2_048)
  @IsString({ each: true })
  @MinLength(1, { each: true })
  texts!: string[];

  /** Texts as ids of the model's own tokenizer; optional for good. */
  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(2_048)
  @IsArray({ each: true })
  @IsTokenLists()
  tokenIds?: number[][];

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
