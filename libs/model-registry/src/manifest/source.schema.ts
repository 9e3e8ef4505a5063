import { Type } from 'class-transformer';
import {
  ArrayNotEmpty,
  IsArray,
  IsIn,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  Min,
  ValidateNested,
} from '#platform/validation';

/** A relative path inside its folder: no `..`, no leading slash, no backslash. */
export const innerPathPattern = /^(?!\/)(?!.*(?:^|\/)\.\.(?:\/|$))[^\\\0]+$/;
const innerPath = { message: '$property must be a relative path without ".."' };

export class ManifestFileSchema {
  @IsString() @Matches(innerPathPattern, innerPath) path: string;
  @IsOptional() @IsString() @Matches(innerPathPattern, innerPath) as?: string;
  @IsOptional() @Matches(/^[0-9a-f]{64}$/, { message: '$property must be 64 lower-case hex digits' }) sha256?: string;
  @IsOptional() @IsInt() @Min(0) bytes?: number;
}

export class ManifestSourceSchema {
  @Matches(/^(npm|hf|file|https|http):.+/, { message: '$property must start with npm:, hf:, file: or https:' })
  uri: string;

  @IsOptional()
  @Matches(/^sha(256|384|512)-[A-Za-z0-9+/]+=*$/, { message: '$property must be an SRI such as sha512-…' })
  integrity?: string;

  @IsArray() @ValidateNested({ each: true }) @Type(() => ManifestFileSchema) files: ManifestFileSchema[];
}

export class ManifestConcatSchema {
  @IsArray() @ArrayNotEmpty() @Matches(innerPathPattern, { ...innerPath, each: true }) parts: string[];
  @Matches(innerPathPattern, innerPath) as: string;
}

export class ManifestConverterSchema {
  @IsIn(['none', 'llama2c', 'gguf', 'tfjs', 'ncnn', 'moonshine', 'bert', 'onnx']) kind:
    'none' | 'llama2c' | 'gguf' | 'tfjs' | 'ncnn' | 'moonshine' | 'bert' | 'onnx';
  @IsOptional() @IsObject() options?: Record<string, string | number | boolean>;
}
