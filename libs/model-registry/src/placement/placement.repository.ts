import { Injectable } from '#platform/injection';
import { PrismaService } from '#platform/prisma';
import type { DesiredState, ModelPlacement, WorkerState } from './placement.js';

/** A worker's state as its column stores it. */
type StoredState = Omit<WorkerState, 'processId' | 'seenAt'>;

/** The placements, their revision, and the last known state of workers. */
@Injectable()
export class PlacementRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Returns revision and placements of one moment. */
  async read(): Promise<DesiredState> {
    const [revision, placements] = await this.prisma.$transaction(
      [
        this.prisma.placementRevision.findFirst(),
        this.prisma.modelPlacement.findMany({ orderBy: [{ modelId: 'asc' }, { pool: 'asc' }] }),
      ],
      { isolationLevel: 'RepeatableRead' },
    );
    return {
      revision: Number(revision?.revision ?? 0),
      placements: placements.map(({ modelId, pool, pinned, replicas }) => ({ modelId, pool, pinned, replicas })),
    };
  }

  /** Places a model in a pool, or replaces its placement there. */
  async place({ modelId, pool, pinned, replicas }: ModelPlacement): Promise<void> {
    await this.prisma.$transaction([
      this.nextRevision(),
      this.prisma.modelPlacement.upsert({
        where: { modelId_pool: { modelId, pool } },
        create: { modelId, pool, pinned, replicas },
        update: { pinned, replicas, placedAt: new Date() },
      }),
    ]);
  }

  /** Removes a model from one pool, or (null) from all; returns the pools it was in. */
  async unplace(modelId: string, pool: string | null): Promise<string[]> {
    const where = { modelId, ...(pool !== null && { pool }) };
    const [, found] = await this.prisma.$transaction([
      this.nextRevision(),
      this.prisma.modelPlacement.findMany({ where, select: { pool: true }, orderBy: { pool: 'asc' } }),
      this.prisma.modelPlacement.deleteMany({ where }),
    ]);
    return found.map((row) => row.pool);
  }

  /** Stores what workers report, as of now; many replicas may store the same. */
  async recordWorkers(workers: readonly Omit<WorkerState, 'seenAt'>[]): Promise<void> {
    if (workers.length === 0) return;
    const ids = workers.map(({ processId }) => processId);
    const texts = workers.map(({ pools, budgets, models, withoutReplica }) =>
      JSON.stringify({ pools, budgets, models, withoutReplica }),
    );
    // SQL: one statement for all workers of a fleet, dated by the database's clock; Prisma has no upsert of many rows.
    await this.prisma.$executeRaw`
      INSERT INTO worker_holdings (process_id, holdings, seen_at)
      SELECT id, holdings::jsonb, now() FROM unnest(${ids}::text[], ${texts}::text[]) AS reported(id, holdings)
      ON CONFLICT (process_id) DO UPDATE SET holdings = excluded.holdings, seen_at = excluded.seen_at`;
  }

  /** Deletes workers that have reported nothing for so long. */
  async deleteSilentWorkers(maxAgeMs: number): Promise<void> {
    // SQL: the database's clock dated the rows.
    await this.prisma.$executeRaw`
      DELETE FROM worker_holdings WHERE seen_at < now() - make_interval(secs => ${maxAgeMs / 1_000}::float8)`;
  }

  async readWorkers(): Promise<WorkerState[]> {
    const rows = await this.prisma.workerState.findMany({ orderBy: { processId: 'asc' } });
    return rows.map(({ processId, seenAt, state }) => ({
      processId,
      seenAt,
      ...(state as unknown as StoredState),
    }));
  }

  /** Its row lock serializes changes. */
  private nextRevision() {
    return this.prisma.placementRevision.updateMany({ data: { revision: { increment: 1 } } });
  }
}
