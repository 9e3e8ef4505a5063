import { Type } from 'class-transformer';
import {
  ArrayNotEmpty,
  IsArray,
  IsIn,
  IsInt,
  IsObject,
  IsOptional,
  Matches,
  Min,
  ValidateBy,
  ValidateNested,
} from '#platform/validation';
import { isInnerPath } from '#platform/files';
import { converterKinds, type ManifestConverter } from './manifest.js';

/** Requires a relative path inside its folder (`isInnerPath`). */
export function IsInnerPath({ each = false } = {}): PropertyDecorator {
  const message = '$property must be a relative path without "..", "." or control characters';
  const validate = (value: unknown): boolean => typeof value === 'string' && isInnerPath(value);
  return ValidateBy({ name: 'isInnerPath', validator: { validate, defaultMessage: () => message } }, { each });
}

export class ManifestFileSchema {
  @IsInnerPath() path: string;
  @IsOptional() @IsInnerPath() as?: string;
  @IsOptional() @Matches(/^[0-9a-f]{64}$/, { message: '$property must be 64 lower-case hex digits' }) sha256?: string;
  @IsOptional() @IsInt() @Min(0) bytes?: number;
}

export class ManifestConcatSchema {
  @IsArray() @ArrayNotEmpty() @IsInnerPath({ each: true }) parts: string[];
  @IsInnerPath() as: string;
}

/** A source without mirrors, as mirrors consist of. */
export class ManifestPlainSourceSchema {
  @Matches(/^(npm|pypi|hf|file|https|http):.+/, {
    message: '$property must start with npm:, pypi:, hf:, file: or https:',
  })
  uri: string;

  @IsOptional()
  @Matches(/^sha(256|384|512)-[A-Za-z0-9+/]+=*$/, { message: '$property must be an SRI such as sha512-…' })
  integrity?: string;

  /** Default: none, for sources that may be taken whole. */
  @IsOptional() @IsArray() @ValidateNested({ each: true }) @Type(() => ManifestFileSchema) files?: ManifestFileSchema[];
}

export class ManifestMirrorSchema {
  @IsArray()
  @ArrayNotEmpty()
  @ValidateNested({ each: true })
  @Type(() => ManifestPlainSourceSchema)
  sources: ManifestPlainSourceSchema[];

  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ManifestConcatSchema)
  concat?: ManifestConcatSchema[];
}

export class ManifestSourceSchema extends ManifestPlainSourceSchema {
  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ManifestMirrorSchema)
  mirrors?: ManifestMirrorSchema[];
}

export class ManifestConverterSchema {
  @IsIn(converterKinds) kind: ManifestConverter['kind'];
  @IsOptional() @IsObject() options?: Record<string, string | number | boolean>;
}
