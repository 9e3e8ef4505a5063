/** The texts and settings that an operator writes about a character. */
export interface CharacterDefinition {
  /** Its name in requests. */
  slug: string;
  name: string;
  description: string | null;
  /** Follows the platform's default system prompt. */
  systemPrompt: string;
  /** What the character says first. */
  greeting: string | null;
  /** A registry id, trait or alias, for requests that name the default model. */
  modelId: string;
  tags: string[];
  author: string;
  adult: boolean;
  featured: boolean;
  webEnabled: boolean;
  photoUrl: string | null;
  shareUrl: string | null;
}

/** A character as stored. */
export interface Character extends CharacterDefinition {
  id: string;
  /** Chats that used it, up to the last seconds. */
  uses: bigint;
  ratingCount: number;
  ratingSum: number;
  /** The model that embedded its documents; null: it has none. */
  documentsModel: string | null;
  createdAt: Date;
  updatedAt: Date;
}

/** A character and the rating that one account gave it; null: none. */
export interface RatedCharacter {
  character: Character;
  userRating: number | null;
}

/** Model of characters that ask for none. */
export const defaultModel = 'default';

export const characterSorts = [
  'featured',
  'highestRating',
  'highlyRated',
  'highlyRatedAndRecent',
  'imports',
  'mostRecent',
  'ratingCount',
] as const;
export type CharacterSort = (typeof characterSorts)[number];

/** Which characters of a list; null or empty: any. */
export interface CharacterFilter {
  search: string | null;
  /** Any of these. */
  tags: readonly string[];
  categories: readonly string[];
  modelIds: readonly string[];
  adult: boolean | null;
  webEnabled: boolean | null;
}

export interface CharacterPage {
  sort: CharacterSort;
  descending: boolean;
  limit: number;
  offset: number;
}

export interface CharacterReview {
  id: string;
  characterId: string;
  /** Null for a review of the operator. */
  accountId: string | null;
  rating: number;
  message: string | null;
  username: string;
  locale: string | null;
  createdAt: Date;
}

/** Returns the mean of the ratings; 0 without one. */
export function averageRating({ ratingCount, ratingSum }: Pick<Character, 'ratingCount' | 'ratingSum'>): number {
  return ratingCount === 0 ? 0 : Math.round((ratingSum / ratingCount) * 100) / 100;
}
