import type { Logger } from '#platform/logging';
import type { StakeReader } from './stake-reader.js';
import type { DueWallet, StakesRepository } from './stakes.repository.js';
import type { StakesService } from './stakes.service.js';

/** How long wallets without a stake are not asked for, in ms: anybody can have many, and each costs a call. */
const unstakedMs = 86_400_000;
/** After how long a wallet is tried again whose stake the chain did not say, in ms. */
const retryMs = 60_000;
const batchSize = 100;
const parallelReads = 8;
/** How often due wallets are looked for at least, in ms. */
const longestPassMs = 10_000;

export interface StakeRefresherDependencies {
  repository: StakesRepository;
  stakes: Pick<StakesService, 'applyTo'>;
  reader: StakeReader;
  logger: Logger;
  /** Time after which a stake is read again, in ms. */
  refreshMs: number;
}

/**
 * Reads the stakes of wallets again, so that the allowances of their accounts follow. A stake that is gone takes the
 * rest of today's allowance with it. While the chain does not answer, allowances stay for a day and then end.
 */
export class StakeRefresher {
  private timer: NodeJS.Timeout | null = null;
  private running: Promise<void> = Promise.resolve();
  private closed = false;

  constructor(private readonly dependencies: StakeRefresherDependencies) {}

  start(): void {
    this.running = this.runPass();
  }

  /** A pass that runs ends first. */
  async close(): Promise<void> {
    this.closed = true;
    if (this.timer !== null) clearTimeout(this.timer);
    await this.running;
  }

  /** Reads the stakes that are due, 100 at most; resolves to how many the chain did not say. */
  async refresh(): Promise<number> {
    const due = await this.dependencies.repository.claimDue({ limit: batchSize, claimMs: retryMs });
    let unanswered = 0;
    while (due.length > 0 && !this.closed) {
      const results = await Promise.all(due.splice(0, parallelReads).map((wallet) => this.refreshWallet(wallet)));
      unanswered += results.filter((isAnswered) => !isAnswered).length;
    }
    return unanswered;
  }

  /** Resolves to whether the chain said the stake. */
  private async refreshWallet({ address, accountId }: DueWallet): Promise<boolean> {
    const { reader, refreshMs, repository, stakes } = this.dependencies;
    const known = await repository.find(address);
    const units = await reader.stakeOf(address).catch(() => null);
    if (units !== null) {
      await repository.save({ address, units, dueInMs: units > 0n ? refreshMs : unstakedMs });
    }
    // An account whose wallets never had a stake keeps what the operator has set.
    if ((known?.units ?? 0n) > 0n || (units ?? 0n) > 0n) await stakes.applyTo(accountId);
    return units !== null;
  }

  private async runPass(): Promise<void> {
    const { logger, refreshMs } = this.dependencies;
    try {
      const unanswered = await this.refresh();
      if (unanswered > 0) logger.warn({ wallets: unanswered }, 'the chain did not say the stakes of some wallets');
    } catch (error) {
      if (!this.closed) logger.warn({ error }, 'stakes could not be read again, they will be tried later');
    }
    if (this.closed) return;
    this.timer = setTimeout(
      () => {
        this.running = this.runPass();
      },
      Math.min(longestPassMs, refreshMs),
    );
  }
}
