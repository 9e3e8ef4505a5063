import { PrismaService } from '#platform/prisma';
import type { CharacterReview } from './character.js';
import { Injectable } from '#platform/injection';

export type NewReview = Omit<CharacterReview, 'id' | 'createdAt'>;

/** The table of reviews. */
@Injectable()
export class ReviewsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Newest first. */
  async list(characterId: string, { page, pageSize }: { page: number; pageSize: number }): Promise<CharacterReview[]> {
    return this.prisma.characterReview.findMany({
      where: { characterId },
      orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
      skip: (page - 1) * pageSize,
      take: pageSize,
    });
  }

  /** Writes a review, in place of an earlier one of the same account, and the sums of its character. */
  async save(review: NewReview): Promise<CharacterReview> {
    const { characterId: id, accountId, rating } = review;
    return this.prisma.$transaction(async (transaction) => {
      // SQL: Prisma cannot lock a row. Two reviews of one account would otherwise count twice.
      await transaction.$executeRaw`SELECT 1 FROM characters WHERE id = ${id}::uuid FOR UPDATE`;
      const where = { characterId: id, accountId };
      const earlier = accountId === null ? null : await transaction.characterReview.findFirst({ where });
      const data = {
        ratingCount: { increment: earlier === null ? 1 : 0 },
        ratingSum: { increment: rating - (earlier?.rating ?? 0) },
      };
      await transaction.character.update({ where: { id }, data });
      if (earlier === null) return transaction.characterReview.create({ data: review });
      return transaction.characterReview.update({
        where: { id: earlier.id },
        data: { ...review, createdAt: new Date() },
      });
    });
  }
}
