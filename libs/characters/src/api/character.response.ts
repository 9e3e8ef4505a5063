import { ApiProperty } from '@nestjs/swagger';

/* Responses of `/characters`, for the API document and the types of the presenter. */

const address = { type: 'string', nullable: true, example: null } as const;
const time = { type: 'string', example: '2026-11-23T12:00:00.000Z' } as const;

export class CharacterStatsResponse {
  @ApiProperty({ type: 'number', description: 'Mean of the ratings; 0 without one.', example: 4.5 })
  averageRating!: number;

  @ApiProperty({ type: 'number', description: 'Chats that used the character.', example: 128 })
  imports!: number;

  @ApiProperty({ type: 'number', example: 2 }) ratingCount!: number;
  @ApiProperty({ type: 'number', example: 9 }) ratingSum!: number;

  @ApiProperty({ type: 'number', nullable: true, description: 'What the account gave.', example: null })
  userRating!: number | null;
}

export class CharacterResponse {
  @ApiProperty({ type: 'string', example: '5f6c1c0e-2f7b-4b5e-9f0a-3d1d0c7a2b11' }) id!: string;

  @ApiProperty({ type: 'string', description: 'For `character_slug`.', example: 'plain-language-editor' })
  slug!: string;

  @ApiProperty({ type: 'string', example: 'Plain-language editor' }) name!: string;

  @ApiProperty({ type: 'string', nullable: true, example: 'Rewrites texts so that everyone understands them.' })
  description!: string | null;

  @ApiProperty({ type: 'string', example: 'Sluice' }) author!: string;
  @ApiProperty({ type: 'boolean', description: 'For adults only.', example: false }) adult!: boolean;
  @ApiProperty({ type: 'boolean', example: true }) featured!: boolean;

  @ApiProperty({ type: 'boolean', description: 'Meant to be used with web search.', example: false })
  webEnabled!: boolean;

  @ApiProperty({ type: 'string', description: 'Its model in requests that name `default`.', example: 'default' })
  modelId!: string;

  @ApiProperty({ type: 'array', items: { type: 'string' }, example: ['writing'] }) tags!: string[];
  @ApiProperty(address) photoUrl!: string | null;
  @ApiProperty(address) shareUrl!: string | null;
  @ApiProperty(time) createdAt!: string;
  @ApiProperty(time) updatedAt!: string;
  @ApiProperty({ type: () => CharacterStatsResponse }) stats!: CharacterStatsResponse;
}

export class CharacterListResponse {
  @ApiProperty({ type: 'string', enum: ['list'] }) object!: 'list';
  @ApiProperty({ type: () => CharacterResponse, isArray: true }) data!: CharacterResponse[];
}

export class CharacterDataResponse {
  @ApiProperty({ type: 'string', enum: ['character'] }) object!: 'character';
  @ApiProperty({ type: () => CharacterResponse }) data!: CharacterResponse;
}

export class CharacterReviewResponse {
  @ApiProperty({ type: 'string', example: '0197a3c2-5b1e-7c40-9a63-2f8d1c0b7e54' }) id!: string;
  @ApiProperty({ type: 'string', example: '5f6c1c0e-2f7b-4b5e-9f0a-3d1d0c7a2b11' }) characterId!: string;
  @ApiProperty({ type: 'integer', minimum: 1, maximum: 5, example: 5 }) rating!: number;

  @ApiProperty({ type: 'string', nullable: true, example: 'Short and clear.' })
  message!: string | null;

  @ApiProperty({ type: 'string', example: 'Ada' }) username!: string;
  @ApiProperty(address) userAvatarUrl!: string | null;
  @ApiProperty({ type: 'string', nullable: true, example: 'en' }) locale!: string | null;
  @ApiProperty({ type: 'boolean', description: 'Written by this account.', example: false }) isOwner!: boolean;
  @ApiProperty(time) createdAt!: string;
}

export class PaginationResponse {
  @ApiProperty({ type: 'integer', minimum: 0, exclusiveMinimum: true, example: 1 }) page!: number;
  @ApiProperty({ type: 'integer', minimum: 0, exclusiveMinimum: true, example: 20 }) pageSize!: number;
  @ApiProperty({ type: 'integer', minimum: 0, example: 2 }) total!: number;
  @ApiProperty({ type: 'integer', minimum: 0, example: 1 }) totalPages!: number;
}

export class ReviewSummaryResponse {
  @ApiProperty({ type: 'number', example: 4.5 }) averageRating!: number;
  @ApiProperty({ type: 'integer', minimum: 0, example: 2 }) totalReviews!: number;
}

export class CharacterReviewsResponse {
  @ApiProperty({ type: 'string', enum: ['list'] }) object!: 'list';
  @ApiProperty({ type: () => CharacterReviewResponse, isArray: true }) data!: CharacterReviewResponse[];
  @ApiProperty({ type: () => PaginationResponse }) pagination!: PaginationResponse;
  @ApiProperty({ type: () => ReviewSummaryResponse }) summary!: ReviewSummaryResponse;
}
