import { Redis } from 'ioredis';
import type { StoreFinding } from '#platform/health';
import { isInfoDenied, isRightMissing, tolerateDeniedInfo } from '#platform/redis';
import { evictionProblem, infoDenied, readServerFacts, versionProblem } from '../backends/redis/redis-clients.js';
import { findMissingRights } from './redis-rights.js';

/** How long a connection and each command may take, in ms. */
const maxWaitMs = 5_000;

/** From this fraction of its limit the memory is reported: from 90 % no new work is accepted. */
const reportedShare = 0.8;

/** Writes that the scripts of queue and rate limits leave in the append-only file. */
const loggedWrites = ['set', 'hset', 'lpush', 'zadd', 'xadd', 'del'] as const;

/** The Redis of queue, bus or rate limits, as an operator sees it. */
export interface RedisExamination {
  readonly version: string | null;
  readonly usedMemoryBytes: number;
  /** 0 without a limit. */
  readonly maxMemoryBytes: number;
  /** Clock of the server minus the clock of this process, in ms; null: not measured. */
  readonly clockOffsetMs: number | null;
  readonly findings: readonly StoreFinding[];
}

const problem = (text: string): StoreFinding => ({ store: 'redis', severity: 'problem', text });
const note = (text: string): StoreFinding => ({ store: 'redis', severity: 'note', text });

/** Examines a Redis for an installation. Never rejects: a server that does not respond is a finding. */
export async function examineRedis(url: string, namespace: string): Promise<RedisExamination> {
  const options = { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null };
  const client = tolerateDeniedInfo(
    new Redis(url, { ...options, connectTimeout: maxWaitMs, commandTimeout: maxWaitMs }),
  );
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await examine(client, namespace);
  } catch (error) {
    const text = `Redis cannot be used (${(error as Error).message}): check its address, password and network.`;
    return { version: null, usedMemoryBytes: 0, maxMemoryBytes: 0, clockOffsetMs: null, findings: [problem(text)] };
  } finally {
    client.disconnect();
  }
}

async function examine(client: Redis, namespace: string): Promise<RedisExamination> {
  const { version, ...facts } = await readServerFacts(client);
  const clockOffsetMs = await measureClock(client);
  const findings = [
    ...(version === null ? [note(infoDenied)] : [versionProblem(version), evictionProblem(facts)].flatMap(asProblem)),
    ...memoryFindings(facts),
    ...(await persistenceFindings(client)),
    ...(await defaultUserFindings(client, namespace)),
    // Last, since its connection then listens.
    ...rightsFindings(await findMissingRights(client, namespace)),
  ];
  const { usedMemoryBytes, maxMemoryBytes } = facts;
  return { version, usedMemoryBytes, maxMemoryBytes, clockOffsetMs, findings };
}

function asProblem(text: string | null): StoreFinding[] {
  return text === null ? [] : [problem(text)];
}

function memoryFindings({ usedMemoryBytes, maxMemoryBytes }: { usedMemoryBytes: number; maxMemoryBytes: number }) {
  const share = maxMemoryBytes === 0 ? 0 : usedMemoryBytes / maxMemoryBytes;
  if (share < reportedShare) return [];
  const percent = Math.floor(share * 100);
  return [problem(`Redis uses ${percent} % of its maxmemory; from 90 % no new work is accepted: give it more memory.`)];
}

async function persistenceFindings(client: Redis): Promise<StoreFinding[]> {
  const info = await client.info('persistence');
  if (isInfoDenied(info)) return [];
  if (!/^aof_enabled:0/m.test(info)) return [];
  return [
    note(
      'Redis has no append-only file, so a restart loses running jobs and waiting streams: set appendonly yes. Jobs ' +
        'that wait are rebuilt from the database.',
    ),
  ];
}

/**
 * At a restart Redis executes its append-only file with the rights of the user `default`. It ends a transaction at the first
 * command that this user may not run, and every script is one: in spite of the file, all jobs are gone.
 */
async function defaultUserFindings(client: Redis, namespace: string): Promise<StoreFinding[]> {
  const key = `${namespace}:doctor`;
  const lines = loggedWrites.map((command) => [command, key, ...argumentsOf(command)]);
  for (const line of lines) {
    let response: unknown;
    try {
      response = await client.call('ACL', 'DRYRUN', 'default', ...line);
    } catch (error) {
      return isRightMissing(error)
        ? [
            note(
              'Whether the Redis user default may write is not checked, which decides whether jobs survive a restart: ' +
                'give the user of this process +acl|dryrun (docs/operate/operations.md).',
            ),
          ]
        : // Servers before 7 cannot tell.
          [note('This Redis cannot tell what its user default may do: leave it all keys and commands.')];
    }
    if (response === 'OK') continue;
    return [
      problem(
        'The Redis user default may not write, so Redis loses all jobs at each restart in spite of its append-only ' +
          'file: give it its rights back, switched off if you like (user default off ~* &* +@all).',
      ),
    ];
  }
  return [];
}

function argumentsOf(command: (typeof loggedWrites)[number]): string[] {
  if (command === 'del') return [];
  if (command === 'xadd') return ['*', 'field', '1'];
  if (command === 'set' || command === 'lpush') return ['1'];
  return ['1', 'field'];
}

/** Without `INFO` everything works; a note says what is not checked then. */
function rightsFindings(missing: readonly string[]): StoreFinding[] {
  const needed = missing.filter((right) => right !== '+info');
  if (needed.length === 0) return [];
  return [
    problem(`The Redis user of this process lacks ${needed.join(' ')}: docs/operate/operations.md has the whole line.`),
  ];
}

/** Half of the round trip is added to the server's time. */
async function measureClock(client: Redis): Promise<number | null> {
  const startedMs = Date.now();
  const time = await client.time().catch(() => null);
  if (time === null) return null;
  const [seconds, microseconds] = time.map(Number) as [number, number];
  const elapsedMs = Date.now() - startedMs;
  return Math.round(seconds * 1_000 + microseconds / 1_000 - (startedMs + elapsedMs / 2));
}
