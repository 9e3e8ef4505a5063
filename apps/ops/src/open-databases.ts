import { PrismaService } from '#platform/prisma';

export interface OpenDatabasesOptions {
  url: string;
  /** How long a query that is not the proof of the books may take, in ms; default: 10 s. */
  queryTimeoutMs?: number;
}

/** A proof of the whole ledger reads every entry. */
const proofTimeoutMs = 600_000;

/**
 * Two pools on one database: a server that vanished without a word must not hold up sweeps, outcomes and health for as long as a
 * proof of the books may take.
 */
export function openDatabases({ url, queryTimeoutMs = 10_000 }: OpenDatabasesOptions): {
  prisma: PrismaService;
  proofs: PrismaService;
} {
  return {
    prisma: new PrismaService({ url, applicationName: 'sluice-ops', queryTimeoutMs }),
    proofs: new PrismaService({
      url,
      applicationName: 'sluice-ops-proofs',
      poolSize: 1,
      queryTimeoutMs: proofTimeoutMs,
    }),
  };
}
