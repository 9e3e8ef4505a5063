import { Prisma, PrismaService } from '#platform/prisma';
import { Injectable } from '#platform/injection';

/** A file of a character. */
export interface DocumentRow {
  id: string;
  name: string;
  sha256: string;
}

/** A passage and how close it is to what was searched: the cosine of their vectors. */
export interface FoundPassage {
  name: string;
  position: number;
  text: string;
  similarity: number;
}

/** A file with the passages that were made of it. */
export interface NewDocument {
  name: string;
  sha256: string;
  passages: readonly { text: string; embedding: readonly number[] }[];
}

/** A character and its documents as they were read. */
interface KnownDocuments {
  id: string;
  documentsModel: string | null;
  documentIds: readonly string[];
}

/** Rows of one statement: each has hundreds of numbers. */
const rowsAtOnce = 100;

/** The tables of documents and their passages. */
@Injectable()
export class DocumentsRepository {
  private hasVectors: Promise<boolean> | null = null;

  constructor(private readonly prisma: PrismaService) {}

  async list(characterId: string): Promise<(DocumentRow & { passages: number })[]> {
    const rows = await this.prisma.characterDocument.findMany({
      where: { characterId },
      orderBy: { name: 'asc' },
      include: { _count: { select: { passages: true } } },
    });
    return rows.map(({ _count, ...row }) => ({ ...row, passages: _count.passages }));
  }

  /**
   * Removes some documents and adds others, whose vectors are of `modelId`; null if none is left. Returns false, and
   * changes nothing, if the character no longer is as it is `known`.
   */
  async change(
    known: KnownDocuments,
    { removed, added, modelId }: { removed: readonly string[]; added: readonly NewDocument[]; modelId: string | null },
  ): Promise<boolean> {
    const { id: characterId } = known;
    const work = async (transaction: Prisma.TransactionClient): Promise<boolean> => {
      if (!(await isUnchanged(transaction, known))) return false;
      await transaction.characterDocument.deleteMany({ where: { characterId, id: { in: [...removed] } } });
      for (const { name, sha256, passages } of added) {
        const { id: documentId } = await transaction.characterDocument.create({ data: { characterId, name, sha256 } });
        const rows = passages.map(({ text, embedding }, position) => {
          return { documentId, characterId, position, text, embedding: [...embedding] };
        });
        for (let at = 0; at < rows.length; at += rowsAtOnce) {
          await transaction.characterPassage.createMany({ data: rows.slice(at, at + rowsAtOnce) });
        }
      }
      await transaction.character.update({ where: { id: characterId }, data: { documentsModel: modelId } });
      return true;
    };
    return await this.prisma.$transaction(work, { timeout: 120_000 });
  }

  /** Returns the passages of a character that are closest to a vector of length 1, the closest first. */
  async search(characterId: string, vector: readonly number[], count: number): Promise<FoundPassage[]> {
    const similarity = (await this.vectors())
      ? Prisma.sql`1 - (p.embedding::vector <=> ${[...vector]}::real[]::vector)`
      : Prisma.sql`(SELECT sum(a * b) FROM unnest(p.embedding, ${[...vector]}::real[]) AS pair (a, b))::float8`;
    // SQL: Prisma knows no products of vectors.
    return await this.prisma.$queryRaw<FoundPassage[]>`
      SELECT d.name, p.position, p.text, ${similarity} AS similarity
        FROM character_passages p JOIN character_documents d ON d.id = p.document_id
       WHERE p.character_id = ${characterId}::uuid
       ORDER BY similarity DESC, d.name, p.position LIMIT ${count}`;
  }

  /** Whether the database has the extension pgvector; asked once. */
  private vectors(): Promise<boolean> {
    this.hasVectors ??= this.findVectors().catch((error: unknown) => {
      this.hasVectors = null;
      throw error;
    });
    return this.hasVectors;
  }

  private async findVectors(): Promise<boolean> {
    // SQL: the catalog of extensions is no model of Prisma.
    const rows = await this.prisma.$queryRaw<object[]>`SELECT 1 FROM pg_extension WHERE extname = 'vector'`;
    return rows.length > 0;
  }
}

/** Locks the character: two changes at once would mix vectors of two models, or exceed the limits together. */
async function isUnchanged(
  transaction: Prisma.TransactionClient,
  { id, documentsModel, documentIds }: KnownDocuments,
): Promise<boolean> {
  // SQL: Prisma cannot lock a row.
  await transaction.$executeRaw`SELECT 1 FROM characters WHERE id = ${id}::uuid FOR UPDATE`;
  const select = { documentsModel: true, documents: { select: { id: true } } } as const;
  const found = await transaction.character.findUnique({ where: { id }, select });
  if (found?.documentsModel !== documentsModel || found.documents.length !== documentIds.length) return false;
  return found.documents.every((row) => documentIds.includes(row.id));
}
