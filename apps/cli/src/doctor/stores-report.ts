import { examineStores, namedKeysOf, type StoresReport } from '#jobs/store-checks';
import { PlatformError } from '#common';
import { formatBytes } from '#model-store';
import { loadConfig, StoresConfig } from '#platform/config';
import type { StoreFinding } from '#platform/health';
import { type ClusterExamination, examineCluster } from '#queue/checks';
import type { CliContext } from '../cli-context.js';

/** `sluice doctor --stores`: prints everything, then rejects if something is a problem. */
export async function doctorStores(
  context: CliContext,
  { json, config = loadConfig(StoresConfig) }: { json?: boolean | undefined; config?: StoresConfig },
): Promise<void> {
  const { report, cluster } = await diagnoseStores(context, config);
  const findings = [...report.findings, ...cluster.findings];
  if (json) context.output.json({ ...report, processes: cluster.processes, findings });
  else print(context, report, cluster, findings);
  const problems = findings.filter(({ severity }) => severity === 'problem').length;
  if (problems > 0) throw new PlatformError('SERVICE_UNAVAILABLE', `${problems} problems were found.`);
}

async function diagnoseStores(
  context: CliContext,
  config: StoresConfig,
): Promise<{ report: StoresReport; cluster: ClusterExamination }> {
  const databaseUrl = await context.requireDatabaseUrl();
  const { explicitQueueUrl, redisUrl, namespace, storage, secretKey, previousSecretKeys, sealKeys } = config;
  const queueUrl = explicitQueueUrl ?? redisUrl ?? databaseUrl;
  const report = await examineStores({
    ...{ databaseUrl, queueUrl, namespace, storage, limitsRedisUrl: redisUrl ?? null },
    keys: namedKeysOf(secretKey === undefined ? [] : [secretKey, ...previousSecretKeys], sealKeys),
    queries: await context.requireDatabase(),
    notesKeys: false,
  });
  const isReachable = report.findings.every(({ text }) => !/cannot be used/.test(text));
  // An unreachable store was reported already.
  const cluster = isReachable
    ? await examineCluster({ url: queueUrl, namespace, sealKeys })
    : { processes: {}, findings: [] };
  if (secretKey === undefined) cluster.findings = [...cluster.findings, withoutSecretKey];
  return { report, cluster };
}

const withoutSecretKey: StoreFinding = {
  store: 'keys',
  severity: 'note',
  text: 'SLUICE_SECRET_KEY is not set here, so it is not compared with that of api and ops: run this with it.',
};

function print(
  { output }: CliContext,
  { postgres, redis }: StoresReport,
  { processes }: ClusterExamination,
  findings: readonly StoreFinding[],
): void {
  const heard = Object.entries(processes).map(([role, count]) => `${count} ${role}`);
  output.table(
    ['STORE', ''],
    [
      ...(postgres === null ? [] : [['PostgreSQL', postgresText(postgres)]]),
      ...redis.map((server) => ['Redis', redisText(server)]),
      ['processes heard', heard.join(', ') || 'none'],
    ],
  );
  output.line();
  for (const { severity, store, text } of findings)
    output.line(`${severity === 'problem' ? '!' : ' '} ${store}: ${text}`);
  if (!findings.some(({ severity }) => severity === 'problem')) output.line('No problems found.');
}

function postgresText({ version, connections, clockOffsetMs }: NonNullable<StoresReport['postgres']>): string {
  if (version === null || connections === null) return 'does not respond';
  return `${version}, ${connections.used} of ${connections.usable} connections in use, clock ${offsetText(clockOffsetMs)}`;
}

function redisText({ version, usedMemoryBytes, maxMemoryBytes, clockOffsetMs }: StoresReport['redis'][number]): string {
  const limit = maxMemoryBytes === 0 ? 'no limit' : `of ${formatBytes(maxMemoryBytes)}`;
  return `${version ?? 'unknown version'}, ${formatBytes(usedMemoryBytes)} ${limit}, clock ${offsetText(clockOffsetMs)}`;
}

function offsetText(offsetMs: number | null): string {
  return offsetMs === null ? 'not measured' : `${offsetMs >= 0 ? '+' : ''}${offsetMs} ms`;
}
