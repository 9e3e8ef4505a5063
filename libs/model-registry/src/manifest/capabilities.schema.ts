import { ArrayNotEmpty, IsArray, IsBoolean, IsIn, IsInt, IsOptional, Min } from '#platform/validation';
import type { ModelCapabilities } from './manifest.js';

export const quantizations = ['fp4', 'fp8', 'fp16', 'bf16', 'int8', 'int4', 'not-available'] as const;
export const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/** The closed `capabilities` object. Booleans default to false in a manifest. */
export class CapabilitiesSchema {
  @IsOptional() @IsBoolean() optimizedForCode?: boolean;
  @IsOptional() @IsBoolean() supportsFunctionCalling?: boolean;
  @IsOptional() @IsBoolean() supportsAudioInput?: boolean;
  @IsOptional() @IsBoolean() supportsReasoning?: boolean;
  @IsOptional() @IsBoolean() supportsReasoningEffort?: boolean;
  @IsOptional() @IsBoolean() supportsResponseSchema?: boolean;
  @IsOptional() @IsBoolean() supportsMultipleImages?: boolean;
  @IsOptional() @IsBoolean() supportsVision?: boolean;
  @IsOptional() @IsBoolean() supportsVideoInput?: boolean;
  @IsOptional() @IsBoolean() supportsWebSearch?: boolean;
  @IsOptional() @IsBoolean() supportsLogProbs?: boolean;
  @IsOptional() @IsBoolean() supportsTeeAttestation?: boolean;
  @IsOptional() @IsBoolean() supportsE2EE?: boolean;
  @IsOptional() @IsBoolean() supportsXSearch?: boolean;
  @IsOptional() @IsIn(quantizations) quantization?: (typeof quantizations)[number];
  @IsOptional() @IsArray() @ArrayNotEmpty() @IsIn(reasoningEfforts, { each: true }) reasoningEffortOptions?: string[];
  @IsOptional() @IsIn(reasoningEfforts) defaultReasoningEffort?: string;
  @IsOptional() @IsInt() @Min(1) maxImages?: number;
  @IsOptional() @IsInt() @Min(1) maxVideos?: number;
}

/** Default capabilities of a manifest that declares none. */
export const noCapabilities: Readonly<ModelCapabilities> = {
  optimizedForCode: false,
  supportsFunctionCalling: false,
  supportsAudioInput: false,
  supportsReasoning: false,
  supportsReasoningEffort: false,
  supportsResponseSchema: false,
  supportsMultipleImages: false,
  supportsVision: false,
  supportsVideoInput: false,
  supportsWebSearch: false,
  supportsLogProbs: false,
  supportsTeeAttestation: false,
  supportsE2EE: false,
  supportsXSearch: false,
  quantization: 'not-available',
};
