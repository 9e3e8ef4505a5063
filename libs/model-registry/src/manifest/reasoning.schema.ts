import { IsInt, IsNotEmpty, IsOptional, IsString, MaxLength, Min, ValidateNested } from '#platform/validation';
import { Type } from 'class-transformer';

/** Tokens by effort. `none` has no budget: it switches reasoning off. */
export class ThinkingBudgetsSchema {
  @IsOptional() @IsInt() @Min(1) minimal?: number;
  @IsOptional() @IsInt() @Min(1) low?: number;
  @IsOptional() @IsInt() @Min(1) medium?: number;
  @IsOptional() @IsInt() @Min(1) high?: number;
  @IsOptional() @IsInt() @Min(1) xhigh?: number;
  @IsOptional() @IsInt() @Min(1) max?: number;
}

export class ReasoningSchema {
  @IsOptional() @IsString() @IsNotEmpty() @MaxLength(100) open?: string;
  @IsOptional() @IsString() @IsNotEmpty() @MaxLength(100) close?: string;
  @IsOptional() @ValidateNested() @Type(() => ThinkingBudgetsSchema) budgets?: ThinkingBudgetsSchema;
}
