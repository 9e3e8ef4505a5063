import { createRequire } from 'node:module';
import type * as ClassValidator from 'class-validator';

/*
 * Imports the class-validator rules that the project uses from their own files. The package entry loads all rules,
 * including phone number metadata: 320 files and 0.2 s of CPU time at each process start.
 */

export type {
  ValidationArguments,
  ValidationError,
  ValidatorConstraintInterface,
  ValidatorOptions,
} from 'class-validator';

type Library = typeof ClassValidator;

const load = createRequire(import.meta.url);

function from(file: string): Library {
  return load(`class-validator/cjs/${file}.js`) as Library;
}

export const { ValidationTypes } = from('validation/ValidationTypes');
export const { getMetadataStorage } = from('metadata/MetadataStorage');
export const { registerDecorator } = from('register-decorator');

export const { IsDefined } = from('decorator/common/IsDefined');
export const { IsIn } = from('decorator/common/IsIn');
export const { IsNotEmpty } = from('decorator/common/IsNotEmpty');
export const { IsOptional } = from('decorator/common/IsOptional');
export const { Validate, ValidatorConstraint } = from('decorator/common/Validate');
export const { ValidateBy } = from('decorator/common/ValidateBy');
export const { ValidateNested } = from('decorator/common/ValidateNested');

export const { IsArray } = from('decorator/typechecker/IsArray');
export const { IsBoolean } = from('decorator/typechecker/IsBoolean');
export const { IsInt } = from('decorator/typechecker/IsInt');
export const { IsNumber } = from('decorator/typechecker/IsNumber');
export const { IsObject } = from('decorator/typechecker/IsObject');
export const { IsString } = from('decorator/typechecker/IsString');

export const { Max } = from('decorator/number/Max');
export const { Min } = from('decorator/number/Min');

export const { IsISO8601 } = from('decorator/string/IsISO8601');
export const { Matches } = from('decorator/string/Matches');
export const { MaxLength } = from('decorator/string/MaxLength');
export const { MinLength } = from('decorator/string/MinLength');

export const { ArrayMaxSize } = from('decorator/array/ArrayMaxSize');
export const { ArrayMinSize } = from('decorator/array/ArrayMinSize');
export const { ArrayNotEmpty } = from('decorator/array/ArrayNotEmpty');

const { Validator } = from('validation/Validator');

/**
 * Returns the issues found by class-validator's own executor. `findIssues` is the faster one used for bodies and
 * payloads.
 */
export function validateSync(
  value: object,
  options?: ClassValidator.ValidatorOptions,
): ClassValidator.ValidationError[] {
  return new Validator().validateSync(value, options);
}
