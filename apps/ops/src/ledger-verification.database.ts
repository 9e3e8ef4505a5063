import { OpsConfig } from '#platform/config';
import { Injectable } from '#platform/injection';
import { PrismaService } from '#platform/prisma';

/** Verifying the whole ledger reads every entry. In ms. */
const queryTimeoutMs = 600_000;

/**
 * A pool of its own: a server that vanished must not hold up sweeps, job results and health for as long as a verification
 * may take.
 */
@Injectable()
export class LedgerVerificationDatabase extends PrismaService {
  constructor({ databaseUrl }: OpsConfig) {
    super({ url: databaseUrl, applicationName: 'sluice-ops-proofs', poolSize: 1, queryTimeoutMs });
  }

  /** A verification that still runs has nothing to lose: its connection ends with the process. */
  override onApplicationShutdown(): Promise<void> {
    void this.$disconnect().catch(() => undefined);
    return Promise.resolve();
  }
}
