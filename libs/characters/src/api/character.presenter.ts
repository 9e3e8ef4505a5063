import { averageRating, type Character, type CharacterReview, type RatedCharacter } from '../character.js';
import type { CharacterResponse, CharacterReviewResponse, CharacterReviewsResponse } from './character.response.js';

/** The prompt of a character is the operator's and not shown. */
export function presentCharacter({ character, userRating }: RatedCharacter): CharacterResponse {
  const { id, slug, name, description, author, adult, featured, webEnabled, modelId, tags } = character;
  const { photoUrl, shareUrl, createdAt, updatedAt, uses, ratingCount, ratingSum } = character;
  return {
    ...{ id, slug, name, description, author, adult, featured, webEnabled, modelId, tags, photoUrl, shareUrl },
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    stats: { averageRating: averageRating(character), imports: Number(uses), ratingCount, ratingSum, userRating },
  };
}

export function presentReviews(
  { character, reviews }: { character: Character; reviews: CharacterReview[] },
  { page, pageSize }: { page: number; pageSize: number },
  accountId: string,
): CharacterReviewsResponse {
  const total = character.ratingCount;
  return {
    object: 'list',
    data: reviews.map((review) => presentReview(review, accountId)),
    pagination: { page, pageSize, total, totalPages: Math.ceil(total / pageSize) },
    summary: { averageRating: averageRating(character), totalReviews: total },
  };
}

function presentReview({ accountId: owner, ...review }: CharacterReview, accountId: string): CharacterReviewResponse {
  const { id, characterId, rating, message, username, locale, createdAt } = review;
  return {
    ...{ id, characterId, rating, message, username, userAvatarUrl: null, locale },
    isOwner: owner === accountId,
    createdAt: createdAt.toISOString(),
  };
}
