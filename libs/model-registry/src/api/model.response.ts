import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { modelTypes } from '../manifest/index.js';
import {
  capabilitiesSchema,
  constraintsSchemas,
  deprecationSchema,
  pricingSchemas,
  voiceCloningSchema,
} from './model.schemas.js';
import { flag, listOf, number, type Schema, text } from './openapi-schema.js';

/** An optional member of an entry. */
function Optional(schema: Schema, description?: string): PropertyDecorator {
  // `selfRequired` marks the member itself as optional; a nested object keeps its own list of required members.
  const membership = schema['type'] === 'object' ? { selfRequired: false } : { required: false };
  return ApiProperty({ ...schema, ...membership, ...(description ? { description } : {}) } as ApiPropertyOptions);
}

/** `model_spec` of an entry: common members, then those of one kind of model. */
export class ModelSpecResponse {
  @Optional(number, 'Longest prompt plus output, in tokens.') availableContextTokens?: number;
  @Optional(number, 'Maximum output tokens of one choice.') maxCompletionTokens?: number;
  @Optional(flag, 'Only for accounts with beta access.') beta?: boolean;
  @Optional(flag, 'In beta; restricts nothing.') betaModel?: boolean;
  @ApiProperty({ enum: ['private', 'anonymized'], type: 'string', example: 'private' }) privacy: string;
  @Optional(listOf(text), 'Country codes where the model is available; absent: everywhere.')
  regionRestrictions?: string[];
  @Optional(deprecationSchema) deprecation?: object;
  @Optional(capabilitiesSchema) capabilities?: object;
  @Optional({ anyOf: constraintsSchemas }) constraints?: object;
  @Optional(flag) supportsStyleReferences?: boolean;
  @Optional(text) description?: string;
  @Optional({ ...text, example: 'Stories 15M' }) name?: string;
  @Optional(text, "Web page of the model's authors.") modelSource?: string;
  @Optional({ ...flag, default: false }, 'True while no worker serves it.') offline?: boolean;
  @Optional({ anyOf: pricingSchemas }, 'Text: per million tokens.') pricing?: object;
  @Optional(listOf(text), 'Traits that currently resolve to this model.') traits?: string[];
  @Optional(flag) uncensored?: boolean;
  @Optional(number) embeddingDimensions?: number;
  @Optional(number) maxInputTokens?: number;
  @Optional(flag) supportsCustomDimensions?: boolean;
  @Optional(listOf(number)) matryoshkaDimensions?: number[];
  @Optional(flag) supports_lyrics?: boolean;
  @Optional(flag) lyrics_required?: boolean;
  @Optional(flag) supports_force_instrumental?: boolean;
  @Optional(flag) supports_loop?: boolean;
  @Optional(listOf(text)) voices?: string[];
  @Optional(voiceCloningSchema) voice_cloning?: object;
  @Optional(text) default_voice?: string;
  @Optional(flag) supports_custom_voice_id?: boolean;
  @Optional(flag) supports_language_code?: boolean;
  @Optional(flag) supports_speed?: boolean;
  @Optional(number) default_speed?: number;
  @Optional(number) min_speed?: number;
  @Optional(number) max_speed?: number;
  @Optional(listOf(number)) duration_options?: number[];
  @Optional(number) min_duration?: number;
  @Optional(number) max_duration?: number;
  @Optional(number) default_duration?: number;
  @Optional(listOf(text)) supported_formats?: string[];
  @Optional(text) default_format?: string;
  @Optional(number) prompt_character_limit?: number;
  @Optional(number) min_prompt_length?: number;
  @Optional(number) lyrics_character_limit?: number;
}

/** One entry of `GET /models`. */
export class ModelResponse {
  @Optional({ ...number, example: 256 }, 'Text models: longest prompt plus output, in tokens.') context_length?: number;
  @Optional({ ...number, example: 1690156800 }, 'Unix seconds.') created?: number;

  @Optional({ ...number, minimum: 0, exclusiveMinimum: true, maximum: 1, exclusiveMaximum: true }, 'Resellers only.')
  discount_to_user?: number;

  @ApiProperty({ type: 'string', example: 'stories-15m' }) id: string;
  @ApiProperty({ type: () => ModelSpecResponse }) model_spec: ModelSpecResponse;
  @ApiProperty({ type: 'string', enum: ['model'] }) object: string;
  @ApiProperty({ type: 'string', example: 'sluice' }) owned_by: string;
  @ApiProperty({ type: 'string', enum: [...modelTypes] }) type: string;
}

const filterSchema = {
  anyOf: [
    { type: 'string', enum: [...modelTypes] },
    { type: 'string', enum: ['all', 'code'] },
  ],
  example: 'text',
};

export class ModelListResponse {
  @ApiProperty({ type: () => ModelResponse, isArray: true }) data: ModelResponse[];
  @ApiProperty({ type: 'string', enum: ['list'] }) object: 'list';
  @ApiProperty(filterSchema) type: string;
}

/** Names and the registry ids that they currently resolve to. */
export class ModelNamesResponse {
  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' }, example: { default: 'stories-15m' } })
  data: Record<string, string>;

  @ApiProperty({ type: 'string', enum: ['list'] }) object: 'list';
  @ApiProperty(filterSchema) type: string;
}
