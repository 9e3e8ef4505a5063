import type { OpsConfig } from '#platform/config';
import { logReadiness, Readiness, registerReadinessGauges, startHealthServer } from '#platform/health';
import { createLogger } from '#platform/logging';
import { Metrics, registerQueueFailures } from '#platform/metrics';
import { MigrationCheck } from '#platform/migrations';
import { createTransport } from '#queue';
import { openLimitStore } from '#rate-limit';
import { createArtifactStore } from '#storage';
import { composeOps } from './compose-ops.js';
import { openDatabases } from './open-databases.js';

/** What is not deleted now is by the next run: a store that says nothing must not use up the time to stop. In ms. */
const cleaningPatienceMs = 3_000;

/** Runs ops until SIGTERM or SIGINT; what is in progress ends first. Any number of replicas may run. */
export async function runOps(config: OpsConfig): Promise<void> {
  const logger = createLogger('ops');
  const stopped = stopSignal();
  const { prisma, proofs } = openDatabases({ url: config.databaseUrl });
  const transport = await createTransport({
    url: config.queueUrl,
    namespace: config.namespace,
    clientName: 'ops',
    warn: (message, error) => logger.warn({ error }, message),
  });
  const metrics = new Metrics('ops');
  const artifacts = createArtifactStore(config.storage);
  const limitStore = await openLimitStore({
    redisUrl: config.limitsRedisUrl,
    prisma,
    namespace: config.namespace,
    warn: (message, error) => logger.warn({ error }, message),
  });
  const { results, sweeps, cleaning, progress, ledgerState, placements } = composeOps({
    config,
    prisma,
    proofs,
    transport,
    logger,
    metrics,
    artifacts,
    limitStore,
  });
  const migrations = new MigrationCheck({ url: config.databaseUrl });
  const readiness = new Readiness(
    [
      { name: 'database', check: () => prisma.ping() },
      { name: 'migrations', check: () => migrations.check() },
      { name: 'queue', check: () => transport.ping() },
      { name: 'storage', check: () => artifacts.ping(), isPartial: true },
    ],
    logReadiness(logger),
  );
  registerReadinessGauges(metrics, readiness);
  registerQueueFailures(metrics, () => transport.failedCalls);
  const http = await startHealthServer({ host: config.host, port: config.port, readiness, metrics });
  await results.start();
  sweeps.start();
  cleaning.start();
  progress.start();
  ledgerState.start();
  placements.start();
  logger.info({ port: http.port }, `ops answers health and metrics on port ${http.port}`);

  const signal = await stopped;
  logger.info({ signal }, 'stopping');
  readiness.drain();
  const closing = [sweeps, results, progress, ledgerState, placements].map((part) => part.close());
  await Promise.all([...closing, cleaning.close(cleaningPatienceMs)]);
  await transport.close();
  await artifacts.close();
  await limitStore.close();
  // A proof that still runs has nothing to lose: its connection ends with the process.
  void proofs.$disconnect().catch(() => undefined);
  await prisma.$disconnect();
  await http.close();
  logger.info('ops stopped');
}

function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    process.once('SIGTERM', resolve);
    process.once('SIGINT', resolve);
  });
}
