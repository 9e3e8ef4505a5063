import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsOptional,
  IsString,
  Matches,
  MaxLength,
  MinLength,
  ValidateBy,
} from '#platform/validation';

export const slugPattern = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;
const slugMessage = '$property may hold a-z, 0-9 and "-", at most 64 characters, and ends with a letter or digit';
/** A registry id, trait or alias; no `=`, which a feature suffix has. */
const modelPattern = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,199}$/;
const urlPattern = /^https?:\/\/[^\s]{1,2040}$/;

/** Control characters have no place in a prompt, and PostgreSQL stores no zero character. */
function IsPlainText(options: { each?: boolean } = {}): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isPlainText',
      validator: {
        validate: (value: unknown) =>
          // eslint-disable-next-line no-control-regex -- these are the characters that it looks for
          typeof value === 'string' && value.isWellFormed() && !/[\u0000-\u0008\u000B\u000C\u000E-\u001F]/.test(value),
        defaultMessage: () => '$property must be text without control characters',
      },
    },
    options,
  );
}

function Text(max: number, min = 0): PropertyDecorator {
  const rules = [IsString(), MinLength(min), MaxLength(max), IsPlainText()];
  return (target, property) => {
    for (const rule of rules) rule(target, property);
  };
}

/** The YAML file of a character. */
export class CharacterSchema {
  @Matches(slugPattern, { message: slugMessage }) slug: string;
  @Text(100, 1) name: string;
  @IsOptional() @Text(10_000) description?: string | null;
  @Text(32_000, 1) systemPrompt: string;
  @IsOptional() @Text(8_000) greeting?: string | null;
  @IsOptional()
  @Matches(modelPattern, { message: '$property must be the name of a model' })
  model?: string | null;
  @IsOptional()
  @IsPlainText({ each: true })
  @MaxLength(100, { each: true })
  @MinLength(1, { each: true })
  @IsString({ each: true })
  @ArrayMaxSize(50)
  @IsArray()
  tags?: string[] | null;
  @IsOptional() @Text(100, 1) author?: string | null;
  @IsOptional() @IsBoolean() adult?: boolean | null;
  @IsOptional() @IsBoolean() featured?: boolean | null;
  @IsOptional() @IsBoolean() webAccess?: boolean | null;
  @IsOptional() @Matches(urlPattern, { message: '$property must be a URL' }) photoUrl?: string | null;
  @IsOptional() @Matches(urlPattern, { message: '$property must be a URL' }) shareUrl?: string | null;
}
