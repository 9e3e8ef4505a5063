import { Prisma, PrismaService } from '#platform/prisma';
import type {
  Character,
  CharacterDefinition,
  CharacterFilter,
  CharacterPage,
  CharacterSort,
  RatedCharacter,
} from './character.js';
import { Injectable } from '#platform/injection';

/** Mean of the ratings, drawn to the middle while there are few: five reviews of 3.5 stars are added. */
const trustedRating = Prisma.sql`(rating_sum + 17.5) / (rating_count + 5)`;

/** A rating loses half a star in about two months. */
const orders: Record<CharacterSort, Prisma.Sql> = {
  featured: Prisma.sql`featured::int + ${trustedRating} / 10`,
  highestRating: Prisma.sql`CASE WHEN rating_count = 0 THEN 0 ELSE rating_sum::float8 / rating_count END`,
  highlyRated: trustedRating,
  highlyRatedAndRecent: Prisma.sql`${trustedRating} - extract(epoch FROM now() - created_at) / 86400 / 120`,
  imports: Prisma.sql`uses`,
  mostRecent: Prisma.sql`created_at`,
  ratingCount: Prisma.sql`rating_count`,
};

const anyOf = (texts: readonly string[]): string[] => texts.map((text) => text.toLowerCase());

function tagged(tags: readonly string[]): Prisma.Sql {
  return Prisma.sql`EXISTS (SELECT 1 FROM unnest(tags) tag WHERE lower(tag) = ANY(${anyOf(tags)}))`;
}

function conditions({ search, tags, categories, modelIds, adult, webEnabled }: CharacterFilter): Prisma.Sql {
  const found = search?.toLowerCase() ?? '';
  const all = [
    Prisma.sql`TRUE`,
    ...(tags.length > 0 ? [tagged(tags)] : []),
    ...(categories.length > 0 ? [tagged(categories)] : []),
    ...(modelIds.length > 0 ? [Prisma.sql`model_id = ANY(${[...modelIds]})`] : []),
    ...(adult === null ? [] : [Prisma.sql`adult = ${adult}`]),
    ...(webEnabled === null ? [] : [Prisma.sql`web_enabled = ${webEnabled}`]),
    ...(found === ''
      ? []
      : [Prisma.sql`strpos(lower(concat_ws(' ', name, slug, description, array_to_string(tags, ' '))), ${found}) > 0`]),
  ];
  return Prisma.join(all, ' AND ');
}

/** The table of characters. */
@Injectable()
export class CharactersRepository {
  constructor(private readonly prisma: PrismaService) {}

  async list(filter: CharacterFilter, page: CharacterPage, accountId: string): Promise<RatedCharacter[]> {
    const direction = page.descending ? Prisma.sql`DESC` : Prisma.sql`ASC`;
    // SQL: Prisma cannot order by an expression, nor search in the elements of a list.
    const rows = await this.prisma.$queryRaw<{ id: string }[]>`
      SELECT id::text AS id FROM characters WHERE ${conditions(filter)}
       ORDER BY ${orders[page.sort]} ${direction}, slug LIMIT ${page.limit} OFFSET ${page.offset}`;
    const where = { id: { in: rows.map(({ id }) => id) } };
    const found = await this.prisma.character.findMany({ where, include: ratingOf(accountId) });
    const byId = new Map(found.map((row) => [row.id, rated(row)]));
    return rows.flatMap(({ id }) => byId.get(id) ?? []);
  }

  /** Ordered by slug; for the operator. */
  async all(): Promise<Character[]> {
    return this.prisma.character.findMany({ orderBy: { slug: 'asc' } });
  }

  async find(slug: string): Promise<Character | null> {
    return this.prisma.character.findUnique({ where: { slug } });
  }

  async findRated(slug: string, accountId: string): Promise<RatedCharacter | null> {
    const found = await this.prisma.character.findUnique({ where: { slug }, include: ratingOf(accountId) });
    return found === null ? null : rated(found);
  }

  /** Returns false if the slug is taken. */
  async insert(definition: CharacterDefinition): Promise<boolean> {
    const { count } = await this.prisma.character.createMany({ data: [definition], skipDuplicates: true });
    return count > 0;
  }

  async save(definition: CharacterDefinition): Promise<Character> {
    const update = { ...definition, updatedAt: new Date() };
    return this.prisma.character.upsert({ where: { slug: definition.slug }, create: definition, update });
  }

  /** Returns false if there is no such character. */
  async remove(slug: string): Promise<boolean> {
    const { count } = await this.prisma.character.deleteMany({ where: { slug } });
    return count > 0;
  }

  /** Adds to the number of chats that used each character. */
  async addUses(counts: ReadonlyMap<string, number>): Promise<void> {
    // SQL: one statement for all characters.
    await this.prisma.$executeRaw`
      UPDATE characters SET uses = characters.uses + counted.chats
        FROM unnest(${[...counts.keys()]}::uuid[], ${[...counts.values()]}::int[]) AS counted (id, chats)
       WHERE characters.id = counted.id`;
  }
}

const ratingOf = (accountId: string) => ({ reviews: { where: { accountId }, select: { rating: true } } });

function rated({ reviews, ...character }: Character & { reviews: { rating: number }[] }): RatedCharacter {
  return { character, userRating: reviews[0]?.rating ?? null };
}
