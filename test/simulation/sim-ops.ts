import { LedgerRepository, SettlementStep } from '#billing';
import {
  ExpireOverdueSweep,
  FailAbandonedSweep,
  JobCloser,
  JobsRepository,
  ResultBacklog,
  JobResultProcessor,
  PayloadCipher,
  RequeueLostSweep,
  ResultTickets,
  type Sweep,
} from '#jobs';
import { meterJob } from '#modalities';
import { secretKey } from './sim-api.js';
import { silentLogger } from './silent-logger.js';
import { simChatJob } from './sim-job.js';
import type { SimPlatform } from './sim-platform.js';
import type { StoredResult } from './sim-store.js';
import { ProcessDied, SimProcess } from './world.js';

/** Defaults of ops, in ms. */
const sweepIntervalMs = 3_000;
const lostAfterMs = 15_000;
export const expireGraceMs = 15_000;

/** Ops with production handling of job results, sweeps and row closing. */
export class SimOps {
  readonly process: SimProcess;
  readonly sweeps: readonly Sweep[];
  private readonly results: JobResultProcessor;
  private sweeping = false;

  constructor(
    private readonly platform: SimPlatform,
    name: string,
  ) {
    const { world, database, plant } = platform;
    this.process = new SimProcess(name, 'ops', world.nowMs());
    const transport = platform.transportFor(this.process);
    const prisma = database.prismaFor(world, this.process);
    const repository = new JobsRepository(prisma);
    const jobs = plant?.jobs?.(repository) ?? repository;
    const settlement = new SettlementStep(new LedgerRepository(prisma), meterJob);
    const closer = new JobCloser(jobs, [plant?.settlement?.(settlement) ?? settlement], [platform.onClosing]);
    const tickets = new ResultTickets(secretKey);
    this.results = new JobResultProcessor({ closer, tickets, logger: silentLogger });
    const flow = new ResultBacklog(transport, { sweepIntervalMs: 3_000 }, silentLogger, { clock: world });
    const resultBacklog = () => flow.flows();
    const definitions = new Map([[simChatJob.modality, simChatJob]]);
    const parts = { jobs, closer, transport, logger: silentLogger, definitions, tickets };
    const common = { ...parts, cipher: new PayloadCipher(secretKey), resultBacklog, clock: world };
    const confirmMs = plant?.hastySweeps === true ? 0 : undefined;
    this.sweeps = [
      new RequeueLostSweep({
        ...common,
        producer: transport.producer,
        lostAfterMs: confirmMs ?? lostAfterMs,
        confirmMs: confirmMs ?? sweepIntervalMs,
      }),
      new FailAbandonedSweep({ ...common, confirmMs, comebackMs: confirmMs }),
      new ExpireOverdueSweep({ ...common, graceMs: expireGraceMs, confirmMs: confirmMs ?? sweepIntervalMs }),
    ];
  }

  get maySweep(): boolean {
    return this.process.runs && !this.sweeping;
  }

  /** Processes job results that arrived together; never rejects. */
  async settle(stored: StoredResult[]): Promise<void> {
    const { world } = this.platform;
    for (const each of stored) {
      each.owner = this.process;
      each.ownedAtMs = world.nowMs();
    }
    await Promise.all(stored.map((each) => this.processOne(each)));
  }

  async sweep(place: number): Promise<void> {
    const sweep = this.sweeps[place];
    if (sweep === undefined) return;
    this.sweeping = true;
    this.platform.world.note(`${this.process.name}: sweeps ${sweep.name}`);
    // A sweep that fails runs again, like any other.
    await sweep.run().catch(() => undefined);
    this.sweeping = false;
  }

  private async processOne(stored: StoredResult): Promise<void> {
    const { world, store, plant } = this.platform;
    const { result, id } = stored;
    world.note(`${this.process.name}: result ${result.requestId}/${result.attempt}`);
    try {
      if (plant?.forgetsFailedResults) store.acknowledge(id);
      await this.results.process(result);
      const label = `acknowledge ${result.requestId}`;
      await world.step(this.process, { label, start: () => store.acknowledge(id), mayBeLost: false });
    } catch (error) {
      if (error instanceof ProcessDied || this.process.isDead) return;
      // The queue delivers it again.
      if (stored.owner === this.process) store.postpone(stored, world.nowMs());
    }
  }
}
