import { Redis } from 'ioredis';
import pg from 'pg';
import { ensureQueueRole } from '#platform/migrations';
import { ensurePostgresPoolRole, ensureRedisPoolRole } from '#queue/pools';
import type { Platform } from '#test/platform';

export interface AttackedNames {
  own: string;
  victim: string;
}

/** As it was on the wire, and what its sender wrote. */
export interface CapturedMessage {
  wire: string;
  text: string;
}

/** The store of a queue, as its operator sees it and as the user of a pool that serves the model `own`. */
export interface AttackedStore {
  /** With the user of the pool. */
  readonly url: string;
  /** Commands that would show or change jobs, results and replies of others. */
  commands(requestId: string, replyAddress: string): string[];
  /** Sends a text on a channel of the bus, as the user of the pool. */
  publish(channel: string, text: string): Promise<void>;
  /** Reads the next messages on a channel of the bus as the user of the pool, and how `republish` sends them again. */
  capture(channel: string, count: number): Promise<CapturedMessage[]>;
  republish(channel: string, message: CapturedMessage): Promise<void>;
  /** Runs one as the user of the pool. Resolves to whether it showed or changed anything; rejects when it was refused. */
  attack(command: string): Promise<boolean>;
  /** Locks what all queues need and keeps it. Resolves when the session was ended; null where there are no such locks. */
  holdUp: (() => Promise<void>) | null;
  /** A running job of the victim, as it is stored. */
  runningJob(): Promise<{ id: string; stored: string } | null>;
  close(): Promise<void>;
}

const namespace = 'sluice';

export async function openAttackedStore(
  platform: Platform,
  transport: 'redis' | 'postgres',
  names: AttackedNames,
): Promise<AttackedStore> {
  const role = { namespace, pool: 'stolen', password: 'f33', modelIds: [names.own], modalities: ['chat'] };
  if (transport === 'redis') {
    const { url } = await ensureRedisPoolRole(platform.redis.url, role);
    return openRedis(platform.redis.url, url, names);
  }
  const { databaseUrl, secretKey } = platform;
  const queueUrl = await ensureQueueRole({ url: databaseUrl, secretKey });
  const { url } = await ensurePostgresPoolRole({ url: queueUrl, adminUrl: databaseUrl }, role);
  return await openPostgres(databaseUrl, url, names);
}

function openRedis(operatorUrl: string, url: string, { victim }: AttackedNames): AttackedStore {
  const [operator, client] = [new Redis(operatorUrl), new Redis(url)];
  const queue = `${namespace}:chat.${victim}`;
  return {
    url,
    commands: (requestId, replyAddress) => [
      'KEYS *',
      'SCAN 0',
      `HGETALL ${queue}:${requestId}`,
      `LRANGE ${queue}:wait 0 -1`,
      `DEL ${queue}:${requestId}`,
      'LRANGE sluice:job-results:wait 0 -1',
      'DEL sluice:job-results:wait',
      `XRANGE sluice:reply:${replyAddress} - +`,
      'MONITOR',
      'CONFIG GET requirepass',
      'ACL LIST',
      'FLUSHALL',
      'PUBLISH sluice:bus:heartbeat x',
      'PUBLISH sluice:pool-bus:other:heartbeat x',
    ],
    attack: async (command) => {
      const [name = '', ...rest] = command.split(' ');
      await client.call(name, ...rest);
      return true;
    },
    holdUp: null,
    publish: async (channel, text) => {
      await client.publish(`${namespace}:pool-bus:stolen:${channel}`, text);
    },
    capture: async (channel, count) => {
      const listener = client.duplicate();
      const name = `${namespace}:bus:${channel}`;
      const messages = await gather(count, async (add) => {
        listener.on('message', (_name, wire) => add({ wire, text: wire }));
        await listener.subscribe(name);
      });
      listener.disconnect();
      return messages;
    },
    republish: async (channel, { wire }) => {
      await client.publish(`${namespace}:pool-bus:stolen:${channel}`, wire);
    },
    runningJob: async () => {
      const [id] = await operator.lrange(`${queue}:active`, 0, -1);
      return id === undefined ? null : { id, stored: (await operator.hget(`${queue}:${id}`, 'data')) ?? '' };
    },
    close: async () => {
      client.disconnect();
      operator.disconnect();
    },
  };
}

async function openPostgres(operatorUrl: string, url: string, { own, victim }: AttackedNames): Promise<AttackedStore> {
  const options = `-c search_path=${namespace}_queue`;
  const operator = new pg.Client({ connectionString: operatorUrl, options });
  const client = new pg.Client({ connectionString: url, options });
  await Promise.all([operator.connect(), client.connect()]);
  const queue = `chat.${victim}`;
  return {
    url,
    commands: (requestId) => [
      `SELECT * FROM job WHERE queue <> 'chat.${own}'`,
      `SELECT * FROM event WHERE queue <> 'chat.${own}'`,
      `SELECT * FROM move_to_active('${queue}', 'stolen', 60000, ${Date.now()}, 'stolen', NULL, NULL)`,
      `UPDATE job SET state = 'failed' WHERE id = '${requestId}'`,
      `DELETE FROM job WHERE queue <> 'chat.${own}'`,
      `INSERT INTO meta (queue, field, value) VALUES ('${queue}', 'paused', '1')`,
      `SELECT pause('${queue}', true)`,
      `INSERT INTO job (queue, id, seq, name, state, added_at_ms) VALUES ('${queue}', 'forged', 1, 'x', 'waiting', 0)`,
      'SELECT * FROM public.job_payloads',
      'SELECT * FROM public.accounts',
      'SELECT * FROM public.ledger_entries',
      'ALTER TABLE job DISABLE ROW LEVEL SECURITY',
      'SET ROLE postgres',
      `COPY migration TO PROGRAM 'true'`,
    ],
    attack: async (command) => ((await client.query(command)).rowCount ?? 0) > 0,
    holdUp: async () => {
      const holder = new pg.Client({ connectionString: url, options });
      await holder.connect();
      const ended = new Promise<void>((resolve) => holder.on('error', () => undefined).once('end', resolve));
      await holder.query('BEGIN');
      await holder.query('LOCK TABLE job IN ACCESS EXCLUSIVE MODE');
      await ended;
    },
    publish: async (channel, text) => {
      await client.query('SELECT pg_notify($1, $2)', [`${namespace}_${channel}`, `f33.1.0/1:${text}`]);
    },
    capture: async (channel, count) => {
      const listener = new pg.Client({ connectionString: url });
      await listener.connect();
      const messages = await gather(count, async (add) => {
        listener.on('notification', ({ payload: wire = '' }) => add({ wire, text: wire.replace(/^[^:]*:/, '') }));
        await listener.query(`LISTEN "${namespace}_${channel}"`);
      });
      await listener.end();
      return messages;
    },
    republish: async (channel, { wire }) => {
      await client.query('SELECT pg_notify($1, $2)', [`${namespace}_${channel}`, wire]);
    },
    runningJob: async () => {
      const sql = `SELECT id, data::text AS stored FROM job WHERE queue = $1 AND state = 'active'`;
      return (await operator.query<{ id: string; stored: string }>(sql, [queue])).rows[0] ?? null;
    },
    close: async () => {
      await Promise.all([operator.end(), client.end()]);
    },
  };
}

async function gather(
  count: number,
  listen: (add: (message: CapturedMessage) => void) => Promise<void>,
): Promise<CapturedMessage[]> {
  const messages: CapturedMessage[] = [];
  await new Promise<void>((resolve, reject) => {
    const add = (message: CapturedMessage): void => {
      messages.push(message);
      if (messages.length === count) resolve();
    };
    listen(add).catch(reject);
  });
  return messages.slice(0, count);
}
