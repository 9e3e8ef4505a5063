import { ApiProperty } from '@nestjs/swagger';

/* Responses of the routes that edit characters. */

const text = { type: 'string' } as const;
const optional = { type: 'string', nullable: true } as const;

export class CharacterFileResponse {
  @ApiProperty({ type: 'string', format: 'uuid' }) id!: string;
  @ApiProperty({ ...text, example: 'menu.pdf' }) name!: string;
  @ApiProperty({ type: 'integer', minimum: 0 }) passages!: number;
}

export class CharacterFilesResponse {
  @ApiProperty({ ...optional, description: 'The model that embedded them; null: there are none.' }) model!:
    string | null;
  @ApiProperty({ type: () => CharacterFileResponse, isArray: true }) data!: CharacterFileResponse[];
}

export class AdminCharacterResponse {
  @ApiProperty({ ...text, example: 'night-porter' }) slug!: string;
  @ApiProperty(text) name!: string;
  @ApiProperty(optional) description!: string | null;
  @ApiProperty(text) systemPrompt!: string;
  @ApiProperty(optional) greeting!: string | null;
  @ApiProperty(text) model!: string;
  @ApiProperty({ type: 'string', isArray: true }) tags!: string[];
  @ApiProperty(text) author!: string;
  @ApiProperty({ type: 'boolean' }) adult!: boolean;
  @ApiProperty({ type: 'boolean' }) featured!: boolean;
  @ApiProperty({ type: 'boolean' }) webAccess!: boolean;
  @ApiProperty(optional) photoUrl!: string | null;
  @ApiProperty(optional) shareUrl!: string | null;
  @ApiProperty({ type: () => CharacterFilesResponse }) documents!: CharacterFilesResponse;
}

export class RemovedDocumentsResponse {
  @ApiProperty({ type: 'integer', minimum: 0, description: 'Files that were removed.' }) removed!: number;
}
