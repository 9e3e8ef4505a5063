import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { StakeRefresher } from '#accounts';
import { LedgerWatch } from '#billing';
import { ProgressRecorder } from '#jobs';
import { CleanupSweeps, RepairSweeps } from '#jobs/nest';
import { PlacementPublisher } from '#model-registry';
import { InstallationRunner } from '#model-registry/installations';
import { PaymentRunner } from '#payments/execution';

/** What cleanup does not delete now the next run does: an artifact store that does not respond must not use up the time to stop. In ms. */
const cleanupMaxWaitMs = 3_000;

/** Starts and stops what runs in ops on timers. Job results are consumed by `JobResultsModule`. */
@Injectable()
export class BackgroundTasks implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(
    private readonly repair: RepairSweeps,
    private readonly cleanup: CleanupSweeps,
    private readonly progress: ProgressRecorder,
    private readonly ledger: LedgerWatch,
    private readonly placements: PlacementPublisher,
    @Inject(StakeRefresher) private readonly stakes: StakeRefresher | null,
    private readonly payments: PaymentRunner,
    @Inject(InstallationRunner) private readonly installs: InstallationRunner | null,
  ) {}

  onApplicationBootstrap(): void {
    this.repair.start();
    this.cleanup.start();
    this.progress.start();
    this.ledger.start();
    this.placements.start();
    this.stakes?.start();
    this.payments.start();
    this.installs?.start();
  }

  /** What is in progress ends first. */
  async onModuleDestroy(): Promise<void> {
    const { repair, cleanup, progress, ledger, placements, payments } = this;
    await Promise.all([
      ...[repair, progress, ledger, placements, payments].map((task) => task.close()),
      cleanup.close(cleanupMaxWaitMs),
      this.stakes?.close(),
      this.installs?.close(),
    ]);
  }
}
