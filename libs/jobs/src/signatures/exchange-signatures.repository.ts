import { Injectable } from '#platform/injection';
import { PrismaService } from '#platform/prisma';

/** What the host of a model signed about a request and its response. */
export interface ExchangeSignature {
  requestId: string;
  /** The id in the body of the response. */
  responseId: string;
  modelId: string;
  text: string;
  /** The signature and its address; both null when the host was gone before it could sign. */
  signature: string | null;
  address: string | null;
  /** The canonical form of a signed receipt; null: the host issued none. */
  receipt: string | null;
}

/** Rows of signatures. Another account's rows and expired ones count as absent. */
@Injectable()
export class ExchangeSignaturesRepository {
  // SQL: rows expire by the database's clock.
  constructor(private readonly prisma: PrismaService) {}

  /** Has no effect on a row that exists. */
  async add(accountId: string, row: ExchangeSignature, lifetimeMs: number): Promise<void> {
    const { requestId, responseId, modelId, text, signature, address, receipt } = row;
    await this.prisma.$executeRaw`
      INSERT INTO exchange_signatures (request_id, response_id, account_id, model_id, text, signature, address, receipt, expires_at)
      VALUES (${requestId}, ${responseId}, ${accountId}::uuid, ${modelId}, ${text}, ${signature}, ${address}, ${receipt},
              now() + ${lifetimeMs}::float8 * interval '1 ms')
      ON CONFLICT DO NOTHING`;
  }

  /** Finds a signature by the id of the request or of the response. */
  async find(accountId: string, id: string): Promise<ExchangeSignature | null> {
    const [row] = await this.prisma.$queryRaw<ExchangeSignature[]>`
      SELECT request_id AS "requestId", response_id AS "responseId", model_id AS "modelId", text, signature, address, receipt
        FROM exchange_signatures
       WHERE (request_id = ${id} OR response_id = ${id}) AND account_id = ${accountId}::uuid AND expires_at > now()
       LIMIT 1`;
    return row ?? null;
  }

  /** Deletes expired rows, oldest first; resolves to their number. */
  async deleteExpired(limit: number): Promise<number> {
    return await this.prisma.$executeRaw`
      DELETE FROM exchange_signatures WHERE request_id IN
        (SELECT request_id FROM exchange_signatures WHERE expires_at <= now()
          ORDER BY expires_at LIMIT ${limit}::int FOR UPDATE SKIP LOCKED)`;
  }
}
