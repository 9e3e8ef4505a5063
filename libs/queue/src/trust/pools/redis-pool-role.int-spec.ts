import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { redisAvailable, startRedis } from '#test/redis';
import { createTransport } from '../../transport/create-transport.js';
import { done, echoJob, heartbeat, membership, readAll, until, delta } from '../../conformance/echo-job.conformance.js';
import { envelopeFor, sealKey } from '../../conformance/fixture.conformance.js';
import type { QueueTransport, TransportOptions } from '../../contract/transport.js';
import { poolKeys } from './pool-keys.js';
import { ensureRedisPoolRole } from './redis-pool-role.js';

describe.skipIf(!redisAvailable)('the Redis user of a pool', () => {
  let server: Awaited<ReturnType<typeof startRedis>>;
  const opened: QueueTransport[] = [];
  const clients: Redis[] = [];

  beforeAll(async () => {
    server = await startRedis();
  });

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((transport) => transport.close()));
    for (const client of clients.splice(0)) client.disconnect();
  });

  afterAll(async () => {
    await server.close();
  });

  const open = async (clientName: string, options: Partial<TransportOptions> = {}): Promise<QueueTransport> => {
    const common = { url: server.url, namespace: 'pools', sealKeys: [sealKey], membership, warn: () => undefined };
    const transport = await createTransport({ ...common, clientName, ...options });
    opened.push(transport);
    return transport;
  };

  const role = (modelIds: string[]) => ({
    namespace: 'pools',
    pool: `p${randomBytes(3).toString('hex')}`,
    password: randomBytes(16).toString('hex'),
    modelIds,
    modalities: ['echo'],
  });

  const connect = (url: string): Redis => {
    const client = new Redis(url);
    clients.push(client);
    return client;
  };

  it('is all that a worker of its models needs', async () => {
    const api = await open('api');
    await api.replies.start();
    const { url } = await ensureRedisPoolRole(server.url, role(['tiny-1.5']));
    const worker = await open('worker', { url, sealKeys: poolKeys([sealKey], ['tiny-1.5']) });
    const results: string[] = [];
    await api.results.process(async ({ requestId, status }) => void results.push(`${requestId} ${status}`));
    await worker.consume({
      definition: echoJob(),
      modelId: 'tiny-1.5',
      handler: async ({ envelope, replies }) => {
        replies.send(delta(envelope.payload.text));
        return done;
      },
    });
    const envelope = envelopeFor(api, { payload: { text: 'hello', count: 1 } });
    const reading = readAll(api.replies.open(envelope));
    await api.producer.enqueue(echoJob(), envelope);
    expect(await reading).toContainEqual(delta('hello'));
    await until(() => results.length > 0);
    expect(results).toEqual([`${envelope.requestId} succeeded`]);
    await worker.ping();
    expect(await connect(server.url).call('ACL', 'LOG')).toEqual([]);
  });

  it('shows no other queue, no result and no reply, and no names of keys', async () => {
    const api = await open('api');
    await api.replies.start();
    const envelope = envelopeFor(api, { modelId: 'victim' });
    await api.producer.enqueue(echoJob(), envelope);
    const { url } = await ensureRedisPoolRole(server.url, role(['vict', 'tiny-1.5']));
    const client = connect(url);
    const job = `pools:echo.victim:${envelope.requestId}`;
    for (const command of [
      ['KEYS', '*'],
      ['SCAN', '0'],
      ['HGETALL', job],
      ['LRANGE', 'pools:echo.victim:wait', '0', '-1'],
      ['DEL', job],
      ['EVAL', `return redis.call('HGETALL', '${job}')`, '0'],
      ['LRANGE', 'pools:job-results:wait', '0', '-1'],
      ['RPOP', 'pools:job-results:wait'],
      ['DEL', 'pools:job-results:wait'],
      ['XRANGE', `pools:reply:${api.replies.address}`, '-', '+'],
      ['DEL', `pools:reply:${api.replies.address}`],
      ['FLUSHALL'],
      ['CONFIG', 'GET', '*'],
      ['ACL', 'LIST'],
      ['MONITOR'],
    ]) {
      const [name = '', ...rest] = command;
      await expect(client.call(name, ...rest), command.join(' ')).rejects.toThrow(
        /NOPERM|ACL failure|can't access|permission/i,
      );
    }
    expect(await connect(server.url).exists(job)).toBe(1);
  });

  it('sends on the bus under the name of its pool alone, and keeps nobody from hearing the others', async () => {
    const api = await open('api');
    const roles = { loud: role(['loud']), quiet: role(['quiet']) };
    const { url } = await ensureRedisPoolRole(server.url, roles.loud);
    const quiet = await ensureRedisPoolRole(server.url, roles.quiet);
    const client = connect(url);
    for (const channel of ['pools:bus:heartbeat', `pools:pool-bus:${roles.quiet.pool}:heartbeat`]) {
      await expect(client.publish(channel, 'x'), channel).rejects.toThrow('NOPERM');
    }
    const listener = connect(url);
    await expect(listener.psubscribe('pools:pool-bus:*:heartbeat')).rejects.toThrow('NOPERM');
    const junk = `s1 ${JSON.stringify([null, 'x', 1, Date.now(), 'AAAA'])}\n{}`;
    const flood = client.pipeline();
    for (let count = 0; count < 8_000; count += 1) flood.publish(`pools:pool-bus:${roles.loud.pool}:heartbeat`, junk);
    await flood.exec();
    const worker = await open('worker', { url: quiet.url, sealKeys: poolKeys([sealKey], ['quiet']) });
    await worker.membership.join(() => heartbeat('quiet-worker', null));
    await api.membership.join(() => heartbeat('api', api.replies.address));
    await until(() => api.membership.list().some(({ processId }) => processId === 'quiet-worker'));
    await until(() => worker.membership.list().some(({ processId }) => processId === 'api'));
    await until(() => (api.refusedMessages.get('flood') ?? 0) > 1_000);
    expect(worker.refusedMessages.get('forged')).toBe(0);
  });

  it('hears the installation and its pool again after its connections were lost', async () => {
    const rejections: unknown[] = [];
    const onRejection = (error: unknown) => void rejections.push(error);
    process.on('unhandledRejection', onRejection);
    const warnings: string[] = [];
    const own = role(['tiny-1.5']);
    const { url } = await ensureRedisPoolRole(server.url, own);
    const common = {
      url,
      sealKeys: poolKeys([sealKey], ['tiny-1.5']),
      warn: (text: string) => void warnings.push(text),
    };
    const [api, worker, peer] = [await open('api'), await open('worker', common), await open('peer', common)];
    const admin = connect(server.url);
    const lines = async () => String(await admin.client('LIST')).split('\n');
    const busOfWorker = async () => (await lines()).find((line) => line.includes('name=worker-bus ')) ?? '';
    const expectHearing = async (name: string) => {
      await api.membership.join(() => heartbeat(`api-${name}`, api.replies.address));
      await peer.membership.join(() => heartbeat(`peer-${name}`, null));
      const heard = () => new Set(worker.membership.list().map(({ processId }) => processId));
      await until(() => heard().has(`api-${name}`) && heard().has(`peer-${name}`));
    };
    await expectHearing('first');
    const [, id = ''] = /id=(\d+)/.exec(await busOfWorker()) ?? [];
    expect(await admin.call('CLIENT', 'KILL', 'ID', id)).toBe(1);
    await until(async () => /id=(?!0\b)\d+/.test(await busOfWorker()) && !(await busOfWorker()).includes(`id=${id} `));
    await expectHearing('second');
    expect(await admin.call('CLIENT', 'KILL', 'SKIPME', 'yes')).toBeGreaterThan(5);
    await until(() =>
      worker.ping().then(
        () => true,
        () => false,
      ),
    );
    await expectHearing('third');
    process.off('unhandledRejection', onRejection);
    expect(rejections).toEqual([]);
    expect(warnings.filter((warning) => warning.includes('refused'))).toEqual([]);
  });

  it('may restore all its channels in one command, as clients do', async () => {
    const own = role(['tiny-1.5']);
    const client = connect((await ensureRedisPoolRole(server.url, own)).url);
    expect(await client.subscribe('pools:bus:heartbeat', `pools:pool-bus:${own.pool}:heartbeat`)).toBe(2);
    await expect(client.subscribe('pools:bus:heartbeat', 'pools:pool-bus:other:heartbeat')).rejects.toThrow('NOPERM');
  });

  it('cannot open a job of another model, even with its bytes', async () => {
    const warnings: string[] = [];
    const warn = (message: string) => void warnings.push(message);
    const worker = await open('worker', { sealKeys: poolKeys([sealKey], ['other']), warn });
    const api = await open('api');
    const results: string[] = [];
    const processing = await api.results.process(async ({ error }) => void results.push(error?.code ?? 'none'));
    const seen: unknown[] = [];
    await worker.consume({
      definition: echoJob(),
      modelId: 'sealed',
      handler: async ({ envelope }) => {
        seen.push(envelope.payload);
        return done;
      },
    });
    await api.producer.enqueue(echoJob(), envelopeFor(api, { modelId: 'sealed', replyTo: null }));
    await until(() => results.length > 0);
    expect([results, seen]).toEqual([['INFERENCE_FAILED'], []]);
    expect(warnings).toEqual(['SLUICE_QUEUE_KEY has no key for sealed: its jobs fail here.']);
    await processing.close();
  });
});
