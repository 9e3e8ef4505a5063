import { SettlementStep } from '#billing';
import {
  ExpireOverdueSweep,
  FailAbandonedSweep,
  JobCloser,
  JobsRepository,
  OutcomeFlow,
  OutcomeProcessor,
  PayloadCipher,
  RequeueLostSweep,
  type Sweep,
} from '#jobs';
import { meterJob } from '#modalities';
import { secretKey } from './sim-api.js';
import { silentLogger } from './silent-logger.js';
import { simChatJob } from './sim-job.js';
import type { SimPlatform } from './sim-platform.js';
import type { StoredOutcome } from './sim-store.js';
import { ProcessDied, SimProcess } from './world.js';

/** As ops is configured by default, in ms. */
const sweepIntervalMs = 3_000;
const lostAfterMs = 15_000;
export const expireGraceMs = 15_000;

/** Ops: outcomes, sweeps and the one way to close a row are those of production. */
export class SimOps {
  readonly process: SimProcess;
  readonly sweeps: readonly Sweep[];
  private readonly outcomes: OutcomeProcessor;
  private sweeping = false;

  constructor(
    private readonly platform: SimPlatform,
    name: string,
  ) {
    const { world, database, plant } = platform;
    this.process = new SimProcess(name, 'ops', world.nowMs());
    const transport = platform.transportFor(this.process);
    const repository = new JobsRepository(database.prismaFor(world, this.process));
    const jobs = plant?.jobs?.(repository) ?? repository;
    const settlement = new SettlementStep(meterJob);
    const closer = new JobCloser(jobs, [plant?.settlement?.(settlement) ?? settlement], [platform.hearClosing]);
    this.outcomes = new OutcomeProcessor({ transport, closer, logger: silentLogger });
    const flow = new OutcomeFlow(transport.outcomes, { clock: world });
    const outcomesFlow = () => flow.flows();
    const definitions = new Map([[simChatJob.modality, simChatJob]]);
    const common = { jobs, closer, transport, logger: silentLogger, definitions, outcomesFlow, clock: world };
    const confirmMs = plant?.hastySweeps === true ? 0 : undefined;
    this.sweeps = [
      new RequeueLostSweep({
        ...common,
        producer: transport.producer,
        cipher: new PayloadCipher(secretKey),
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

  /** Works on outcomes that came at the same time; never rejects. */
  async settle(stored: StoredOutcome[]): Promise<void> {
    const { world } = this.platform;
    for (const each of stored) {
      each.holder = this.process;
      each.heldAtMs = world.nowMs();
    }
    await Promise.all(stored.map((each) => this.processOne(each)));
  }

  async sweep(place: number): Promise<void> {
    const sweep = this.sweeps[place];
    if (sweep === undefined) return;
    this.sweeping = true;
    this.platform.world.note(`${this.process.name}: sweeps ${sweep.name}`);
    // A sweep that fails runs again, as every other.
    await sweep.run().catch(() => undefined);
    this.sweeping = false;
  }

  private async processOne(stored: StoredOutcome): Promise<void> {
    const { world, store, plant } = this.platform;
    const { outcome, id } = stored;
    world.note(`${this.process.name}: outcome ${outcome.requestId}/${outcome.attempt}`);
    try {
      if (plant?.forgetsFailedOutcomes) store.acknowledge(id);
      await this.outcomes.process(outcome);
      const label = `acknowledge ${outcome.requestId}`;
      await world.step(this.process, { label, start: () => store.acknowledge(id), mayBeLost: false });
    } catch (error) {
      if (error instanceof ProcessDied || this.process.isDead) return;
      // The queue brings it again.
      if (stored.holder === this.process) store.postpone(stored, world.nowMs());
    }
  }
}
