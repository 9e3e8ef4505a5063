import { errorText } from '#common/values';
import { ownIdentity, startCommand, StartRefusal } from '#platform/process';
import type { LocalConfig } from '#platform/config';
import { freePort } from '#platform/embedded-postgres';
import { ensureQueueRole } from '#platform/migrations';
import { ConsoleLinksService, ConsoleSessionsRepository } from '#accounts';
import { PrismaService } from '#platform/prisma';
import { openHome, readSecretKey, removeRuntimeFile, writeFirstKeys, writeRuntimeFile } from './home.js';
import { withHome } from './home-lock.js';
import { choosePort, originOf } from './listen-address.js';
import { isolateOwnDatabase, type LocalDatabase, openDatabase } from './local-database.js';
import { checkModelNames, prepareDatabase } from './local-registry.js';
import { noteOnMemory } from './memory-note.js';
import { MergedLog } from './merged-log.js';
import { queueKeyOf, Services, untilReady } from './services.js';
import { pullStarterModels, stillComing } from './starter-models.js';
import { describeStartFailure } from './start-failure.js';
import { StopRequest } from './stop-request.js';
import { printBanner } from './banner.js';

/** The api opens several hundred files while it loads; connections of clients come on top. */
const minOpenFiles = 1_024;

/**
 * Throws a `StartRefusal` when this process and its children may not open enough files: they would end and be restarted
 * without end. Node itself raises the soft limit to the hard one.
 */
function requireOpenFiles(limit = openFileLimit()): void {
  if (limit === null || limit >= minOpenFiles) return;
  throw new StartRefusal(
    `At most ${limit} open files are allowed here, and Sluice needs ${minOpenFiles}. Raise the limit: ulimit -n 4096 in ` +
      'the shell, LimitNOFILE= of systemd, --ulimit nofile=4096 of a container.',
  );
}

/** Null: the system has no such limit. */
function openFileLimit(): number | null {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft: number | 'unlimited' } } };
  const limit = userLimits?.open_files?.soft;
  return typeof limit === 'number' ? limit : null;
}

/** Runs all processes on this machine until a signal; resolves to the exit code. */
export async function runLocal(config: LocalConfig): Promise<number> {
  const log = new MergedLog();
  const stop = new StopRequest(log);
  try {
    requireOpenFiles();
    isolateOwnDatabase(config);
    await checkModelNames(config);
    await openHome(config.home);
    const memory = noteOnMemory();
    if (memory !== null) log.note(memory);
    await withHome(config.home, log, stop.signal, () => runLocked(config, log, stop));
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return 0;
    process.stderr.write(`${describeStartFailure(error)}\n`);
    return 1;
  } finally {
    stop.dispose();
  }
}

async function runLocked(config: LocalConfig, log: MergedLog, stop: StopRequest): Promise<void> {
  const port = await choosePort(config.host, config.port);
  const secretKey = config.secretKey ?? (await readSecretKey(config.home));
  const database = await openDatabase(config, log);
  try {
    stop.signal.throwIfAborted();
    await serve({ config, log, stop, port, secretKey, database });
  } finally {
    await database.stop();
    log.note('everything is stopped');
  }
}

interface Serving {
  config: LocalConfig;
  log: MergedLog;
  stop: StopRequest;
  port: number;
  secretKey: string;
  database: LocalDatabase;
}

async function serve({ config, log, stop, port, secretKey, database }: Serving): Promise<void> {
  const queueUrl = await chooseQueue(config, database.url, secretKey, log);
  if (config.pools !== undefined)
    log.note(`SLUICE_POOLS is for \`sluice migrate\`: ${startCommand} creates no users of pools.`);
  // The last step that can fail, because the keys it creates are shown only once.
  const { keys, wanted } = await prepareDatabase(database.url, config, (text) => log.note(text));
  const keysFile = keys === null || log.isTerminal ? null : await writeFirstKeys(config.home, keys);
  const healthPort = await freePort();
  const healthUrl = `http://127.0.0.1:${healthPort}`;
  const services = new Services({ config, log, databaseUrl: database.url, queueUrl, secretKey, port, healthPort });
  stop.onSecond(() => services.kill());
  const origin = originOf(config.host, port);
  const baseUrl = `${origin}/api/v1`;
  await writeRuntimeFile(config.home, {
    databaseUrl: database.url,
    hasOwnDatabase: config.databaseUrl === undefined,
    queueUrl: queueUrl ?? config.queueUrl ?? config.redisUrl,
    queueKey: queueKeyOf(secretKey),
    secretKey,
    baseUrl,
    healthUrl,
    ...(await ownIdentity()),
  });
  services.start();
  followDevChannel(services, log);
  const pulling = pullStarterModels(wanted, config, log, stop.signal);
  try {
    await untilReady(healthUrl, stop.signal).then(
      // Small models may have arrived meanwhile.
      async () => {
        const coming = await stillComing(config.home, wanted);
        // Whatever else takes the output may keep it, and with it a link that signs in.
        const consoleLink = log.isTerminal ? await createConsoleLink(database.url) : null;
        log.print(printBanner({ baseUrl, keys, keysFile, consoleLink, wanted, coming }));
      },
      () => printKeysOnAbort(keysFile === null ? keys : null, log),
    );
    await stop.requested;
  } finally {
    await pulling;
    await services.stop();
    await removeRuntimeFile(config.home);
  }
}

/** Prints the keys when the start is interrupted before the API is ready, since they are not shown again. */
function printKeysOnAbort(keys: { adminKey: string; inferenceKey: string } | null, log: MergedLog): void {
  if (keys) log.print(`\n  Admin key       ${keys.adminKey}\n  Inference key   ${keys.inferenceKey}\n`);
}

/**
 * Returns the queue URL when none is configured: the same database, through a role restricted to the queue. If the
 * server does not allow creating roles, the worker uses the database's own user.
 */
async function chooseQueue(
  config: LocalConfig,
  databaseUrl: string,
  secretKey: string,
  log: MergedLog,
): Promise<string | null> {
  if (config.queueUrl ?? config.redisUrl) return null;
  try {
    return await ensureQueueRole({ url: databaseUrl, secretKey, namespace: config.namespace });
  } catch (error) {
    if (!config.databaseUrl) throw error;
    const reason = errorText(error);
    log.note(`the database does not allow a queue role (${reason}); the worker uses DATABASE_URL`);
    return databaseUrl;
  }
}

/** The path of a one-time link to the console. Null: there is no ADMIN key of an operator account, or no database now. */
async function createConsoleLink(databaseUrl: string): Promise<string | null> {
  const prisma = new PrismaService({ url: databaseUrl, applicationName: 'sluice-local', poolSize: 1 });
  try {
    return await new ConsoleLinksService(new ConsoleSessionsRepository(prisma)).create();
  } catch {
    // The start must not fail for a link; the console's sign-in takes a key as well.
    return null;
  } finally {
    await prisma.$disconnect();
  }
}

/**
 * `npm run dev` starts this process with a channel and names the services to restart after a change of their sources:
 * `{"restart": ["api"]}`. When `npm run dev` dies, everything stops. Without a channel, this does nothing.
 */
function followDevChannel(services: Pick<Services, 'restart'>, log: MergedLog): void {
  if (!process.channel) return;
  process.on('message', (message: { restart?: string[] }) => {
    const names = message.restart ?? [];
    log.note(`restarting ${names.join(', ')}`);
    void services.restart(names);
  });
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}
