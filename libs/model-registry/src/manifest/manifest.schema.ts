import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsISO8601,
  IsNotEmpty,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  MaxLength,
  Min,
  ValidateNested,
} from '#platform/validation';
import { type SearchProviderName, searchProviderNames } from '#platform/config';
import { CapabilitiesSchema } from './capabilities.schema.js';
import { constraintsSchemaOf } from './constraints.schema.js';
import { kindMembersSchemaOf } from './kind-members.schema.js';
import {
  type AdaptedInput,
  adaptedInputs,
  type ClassifiedInput,
  classifiedInputs,
  modelTypes,
  type ModelType,
  type ToolStyleName,
  toolStyleNames,
} from './manifest.js';
import { pricingSchemaOf } from './pricing.schema.js';
import { IsInnerPath, ManifestConcatSchema, ManifestConverterSchema, ManifestSourceSchema } from './source.schema.js';

/** Tokens by effort. `none` has no budget: it switches reasoning off. */
class ThinkingBudgetsSchema {
  @IsOptional() @IsInt() @Min(1) minimal?: number;
  @IsOptional() @IsInt() @Min(1) low?: number;
  @IsOptional() @IsInt() @Min(1) medium?: number;
  @IsOptional() @IsInt() @Min(1) high?: number;
  @IsOptional() @IsInt() @Min(1) xhigh?: number;
  @IsOptional() @IsInt() @Min(1) max?: number;
}

class ReasoningSchema {
  @IsOptional() @IsString() @IsNotEmpty() @MaxLength(100) open?: string;
  @IsOptional() @IsString() @IsNotEmpty() @MaxLength(100) close?: string;
  @IsOptional() @ValidateNested() @Type(() => ThinkingBudgetsSchema) budgets?: ThinkingBudgetsSchema;
}

export const modelIdPattern = /^[a-z0-9][a-z0-9._-]*$/;
/** Aliases may have capitals and a slash, but no `:`, which starts a feature suffix. */
const aliasPattern = /^[A-Za-z0-9][A-Za-z0-9._/-]*$/;
const idMessage = '$property may hold a-z, 0-9, ".", "_" and "-", and starts with a letter or digit';

export class DeprecationSchema {
  @IsBoolean() autoRemap: boolean;
  @IsISO8601() date: string;
  @IsISO8601() removesAt: string;
  @IsOptional() @Matches(modelIdPattern, { message: idMessage }) replacementModelId?: string;
  @IsOptional() @IsISO8601() startsAt?: string;
}

export class InputAdaptersSchema {
  @IsOptional() @Matches(modelIdPattern, { message: idMessage }) audio?: string;
  @IsOptional()
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(4)
  @Matches(modelIdPattern, { each: true, message: idMessage })
  image?: string[];
}

/** Validates with the schema of the kind that the manifest names. */
function byType(schemaOf: (type: ModelType, manifest: { adapts?: unknown }) => new () => object) {
  // class-transformer always passes the parent object when it transforms.
  return (options?: { object: unknown }): new () => object => {
    const manifest = (options?.object ?? { type: 'text' }) as { type: ModelType; adapts?: unknown };
    return schemaOf(manifest.type, manifest);
  };
}

/** A YAML file of `models/`. `manifest-rules.ts` has the rules over several fields. */
export class ManifestSchema {
  @Matches(modelIdPattern, { message: idMessage }) @MaxLength(64) id: string;
  @IsIn(modelTypes) type: ModelType;
  @IsString() @IsNotEmpty() name: string;
  @IsString() description: string;
  @IsInt() @Min(0) created: number;
  @IsString() @IsNotEmpty() ownedBy: string;
  @IsString() modelSource: string;
  @IsString() @IsNotEmpty() license: string;
  @IsString() @IsNotEmpty() family: string;
  @IsOptional() @IsObject() familyOptions?: Record<string, string | number | boolean>;
  @IsIn(['XS', 'S', 'M', 'L']) tier: string;
  @IsIn(['private', 'anonymized']) privacy: string;
  @IsOptional() @IsBoolean() beta?: boolean;
  @IsOptional() @IsBoolean() betaModel?: boolean;
  @IsOptional() @IsArray() @Matches(/^[A-Z]{2}$/, { each: true }) regionRestrictions?: string[];
  @IsOptional() @IsBoolean() uncensored?: boolean;
  @IsOptional() @IsBoolean() internal?: boolean;
  @IsOptional() @IsIn(adaptedInputs) adapts?: AdaptedInput;
  @IsOptional() @IsIn(classifiedInputs) classifies?: ClassifiedInput;

  @IsArray()
  @ArrayNotEmpty()
  @ValidateNested({ each: true })
  @Type(() => ManifestSourceSchema)
  sources: ManifestSourceSchema[];

  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ManifestConcatSchema)
  concat?: ManifestConcatSchema[];

  @IsOptional() @ValidateNested() @Type(() => ManifestConverterSchema) converter?: ManifestConverterSchema;

  @IsOptional() @Matches(modelIdPattern, { message: idMessage }) adapterOf?: string;
  @IsInnerPath() graphFile: string;
  @IsOptional() @IsInt() @Min(0) installedBytes?: number;
  @IsOptional() @IsInt() @Min(2) contextLength?: number;
  @IsOptional() @IsInt() @Min(1) maxCompletionTokens?: number;
  @IsOptional() @IsInt() @Min(1) maxChoices?: number;
  @IsOptional() @IsInt() @Min(1) slots?: number;
  @IsOptional() @IsInt() @Min(1) cacheTokens?: number;

  @IsOptional() @ValidateNested() @Type(() => CapabilitiesSchema) capabilities?: CapabilitiesSchema;
  @IsOptional() @ValidateNested() @Type(() => ReasoningSchema) reasoning?: ReasoningSchema;
  @IsOptional() @IsIn(toolStyleNames) toolStyle?: ToolStyleName;
  @IsOptional() @ValidateNested() @Type(() => InputAdaptersSchema) inputAdapters?: InputAdaptersSchema;
  @IsOptional() @ValidateNested() @Type(byType(constraintsSchemaOf)) constraints?: object;
  @IsOptional() @ValidateNested() @Type(byType(pricingSchemaOf)) pricing?: object;
  @IsOptional() @ValidateNested() @Type(byType(kindMembersSchemaOf)) kindMembers?: object;

  @IsOptional() @IsObject() traits?: Record<string, number>;
  @IsOptional() @IsArray() @Matches(aliasPattern, { each: true }) aliases?: string[];
  @IsOptional() @ValidateNested() @Type(() => DeprecationSchema) deprecation?: DeprecationSchema;
  @IsOptional() @IsArray() @Matches(modelIdPattern, { each: true }) sets?: string[];
  @IsOptional() @IsString() systemPrompt?: string;
  @IsOptional() @IsIn(searchProviderNames) xSearchProvider?: SearchProviderName;
}
