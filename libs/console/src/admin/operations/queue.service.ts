import { JobsRepository } from '#jobs';
import { PlacementRepository } from '#model-registry';
import { Injectable } from '#platform/injection';
import { QueueTransport } from '#queue';
import type { QueueRowResponse } from './operations.response.js';

/** The open jobs of each queue. */
@Injectable()
export class QueueService {
  constructor(
    private readonly jobs: JobsRepository,
    private readonly placements: PlacementRepository,
    private readonly transport: QueueTransport,
  ) {}

  async queues(): Promise<QueueRowResponse[]> {
    const [open, { placements }] = await Promise.all([this.jobs.countOpen(), this.placements.read()]);
    const rows = new Map<string, QueueRowResponse>();
    for (const { modality, modelId, state, count, retried, oldestSeconds } of open) {
      const queue = `${modality}.${modelId}`;
      const pools = placements.filter((placement) => placement.modelId === modelId).map(({ pool }) => pool);
      const row = rows.get(queue) ?? {
        ...noJobs,
        type: modality,
        model: modelId,
        pools,
        claimingWorkers: this.claiming(queue),
      };
      rows.set(queue, row);
      row.retries += retried;
      if (state === 'queued') {
        row.waiting += count;
        row.oldestMs = Math.round(oldestSeconds * 1_000);
      } else row.running += count;
    }
    return [...rows.values()].toSorted((left, right) => right.waiting - left.waiting || right.running - left.running);
  }

  private claiming(queue: string): number {
    return this.transport.membership.list().filter(({ claims = [] }) => claims.includes(queue)).length;
  }
}

const noJobs = { waiting: 0, running: 0, oldestMs: null as number | null, retries: 0 };
