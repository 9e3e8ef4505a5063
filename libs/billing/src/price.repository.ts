import { Injectable } from '#platform/injection';
import { PrismaService } from '#platform/prisma';
import type { ModelPrice } from './model-price.js';

/** Dated prices. A trigger writes a row whenever the registry stores a manifest with a new price. */
@Injectable()
export class PriceRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Returns the current price of every model, by the clock of the database. */
  async current(): Promise<ModelPrice[]> {
    // SQL: DISTINCT ON, by the database's clock.
    return this.prisma.$queryRaw<ModelPrice[]>`
      SELECT DISTINCT ON (model_id) id, model_id AS "modelId", pricing
        FROM prices WHERE effective_at <= now()
       ORDER BY model_id, effective_at DESC, id DESC`;
  }
}
