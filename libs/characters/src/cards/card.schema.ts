import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsObject,
  IsOptional,
  IsString,
  MaxLength,
  ValidateNested,
} from '#platform/validation';

const longest = 32_000;

/** An entry of a card's book; only constant ones enter the prompt. */
export class CardBookEntry {
  @IsOptional() @MaxLength(longest) @IsString() content?: string | null;
  @IsOptional() @IsBoolean() enabled?: boolean | null;
  @IsOptional() @IsBoolean() constant?: boolean | null;
}

export class CardBook {
  @IsOptional()
  @ValidateNested({ each: true })
  @ArrayMaxSize(2_000)
  @IsArray()
  @Type(() => CardBookEntry)
  entries?: CardBookEntry[] | null;
}

/** The members of a card that become a character. Others are left out. */
export class CardData {
  @MaxLength(100) @IsString() name: string;
  @IsOptional() @MaxLength(longest) @IsString() description?: string | null;
  @IsOptional() @MaxLength(longest) @IsString() personality?: string | null;
  @IsOptional() @MaxLength(longest) @IsString() scenario?: string | null;
  @IsOptional() @MaxLength(longest) @IsString() first_mes?: string | null;
  @IsOptional() @MaxLength(longest) @IsString() mes_example?: string | null;
  @IsOptional() @MaxLength(longest) @IsString() creator_notes?: string | null;
  @IsOptional() @MaxLength(longest) @IsString() system_prompt?: string | null;
  @IsOptional() @MaxLength(longest) @IsString() post_history_instructions?: string | null;
  @IsOptional() @MaxLength(100) @IsString() creator?: string | null;
  @IsOptional()
  @MaxLength(100, { each: true })
  @IsString({ each: true })
  @ArrayMaxSize(50)
  @IsArray()
  tags?: string[] | null;
  @IsOptional() @ValidateNested() @IsObject() @Type(() => CardBook) character_book?: CardBook | null;
}

/** A card since the second version. */
export class NestedCard {
  @ValidateNested() @IsObject() @Type(() => CardData) data: CardData;
}
