import { setMaxListeners } from 'node:events';
import { createSocket, type Socket } from 'node:dgram';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { HostsFile } from './hosts-file.js';
import { NameResolver, type NameResolverOptions } from './name-resolver.js';

const typeA = 1;
const typeAaaa = 28;

/** The name and type that a query asks for, and the bytes of that part. */
function questionIn(query: Buffer): { name: string; type: number; bytes: Buffer } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), bytes: query.subarray(12, at + 5) };
}

function response(query: Buffer, question: Buffer, answers: readonly Buffer[], status = 0): Buffer {
  const head = Buffer.alloc(12);
  query.copy(head, 0, 0, 2);
  head.writeUInt16BE(0x8180 | status, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(answers.length, 6);
  return Buffer.concat([head, question, ...answers]);
}

function answer(type: number, data: readonly number[]): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(60, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, Buffer.from(data)]);
}

const address6 = [0x26, 0x06, 0x28, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const answers: Record<string, { v4: number[][]; v6: number[][] }> = {
  'public.example': { v4: [[93, 184, 215, 14]], v6: [] },
  'both.example': {
    v4: [
      [93, 184, 215, 14],
      [93, 184, 215, 15],
    ],
    v6: [address6],
  },
  'six.example': { v4: [], v6: [address6] },
};

describe('NameResolver', () => {
  let server: Socket;
  let asked: string[] = [];
  let servers: string[] = [];
  const open = new AbortController();

  beforeAll(async () => {
    server = createSocket('udp4', (query, from) => {
      const { name, type, bytes } = questionIn(query);
      asked.push(name);
      if (name.startsWith('silent')) return;
      const found = answers[name];
      const [wanted, kind] = type === typeAaaa ? [found?.v6, typeAaaa] : [found?.v4, typeA];
      const reply = response(
        query,
        bytes,
        (wanted ?? []).map((data) => answer(kind, data)),
        found === undefined ? 3 : 0,
      );
      server.send(reply, from.port, from.address);
    });
    await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
    servers = [`127.0.0.1:${(server.address() as AddressInfo).port}`];
  });
  afterAll(() => {
    open.abort();
    server.close();
  });
  beforeEach(() => {
    asked = [];
  });

  const none = { find: () => Promise.resolve([]) };
  const resolver = (options: NameResolverOptions = {}) => new NameResolver({ servers, hosts: none, ...options });
  const of = (owner: string) => ({ owner, signal: open.signal });

  it('finds the addresses of both kinds, in turn', async () => {
    expect(await resolver().resolve('public.example', of('a'))).toEqual([{ address: '93.184.215.14', family: 4 }]);
    expect((await resolver().resolve('both.example', of('a'))).map(({ address }) => address)).toEqual([
      '93.184.215.14',
      '2606:2800::1',
      '93.184.215.15',
    ]);
    expect(await resolver().resolve('six.example', of('a'))).toEqual([{ address: '2606:2800::1', family: 6 }]);
  });

  it('goes on for other accounts while a name server is silent for the names of one', async () => {
    const names = resolver({ queryMs: 600_000, lookupsPerOwner: 8 });
    const leaving = new AbortController();
    setMaxListeners(0, leaving.signal);
    const hostile = Array.from({ length: 20 }, (_, index) =>
      names.resolve(`silent${index}.example`, { owner: 'hostile', signal: leaving.signal }),
    );
    const ends = Promise.allSettled(hostile);
    await expect.poll(() => new Set(asked.filter((name) => name.startsWith('silent'))).size).toBe(8);
    expect(await names.resolve('public.example', of('other'))).toHaveLength(1);
    // No more than eight of one account ask at once.
    expect(new Set(asked.filter((name) => name.startsWith('silent'))).size).toBe(8);
    leaving.abort(new Error('the client left'));
    const reasons = (await ends).map((end) => end.status === 'rejected' && (end.reason as Error).message);
    expect(new Set(reasons)).toEqual(new Set(['the client left']));
    // Its slots are free again.
    expect(await names.resolve('public.example', of('hostile'))).toHaveLength(1);
  });

  it('gives up on a silent name server, and does not ask again at once', async () => {
    let nowMs = 0;
    const names = resolver({ queryMs: 5, tries: 2, nowMs: () => nowMs });
    await expect(names.resolve('silent.example', of('a'))).rejects.toMatchObject({ code: 'ETIMEOUT' });
    const count = asked.length;
    expect(count).toBeGreaterThan(1);
    await expect(names.resolve('SILENT.example', of('b'))).rejects.toThrow('a moment ago');
    expect(asked).toHaveLength(count);
    nowMs = 5_001;
    await expect(names.resolve('silent.example', of('b'))).rejects.toMatchObject({ code: 'ETIMEOUT' });
    expect(asked.length).toBeGreaterThan(count);
  });

  it('remembers names that do not exist, but not those whose caller left', async () => {
    const names = resolver();
    await expect(names.resolve('missing.example', of('a'))).rejects.toMatchObject({ code: 'ENOTFOUND' });
    await expect(names.resolve('missing.example', of('b'))).rejects.toThrow('a moment ago');
    const caller = new AbortController();
    const left = names.resolve('silent.example', { owner: 'a', signal: caller.signal });
    await expect.poll(() => asked).toContain('silent.example');
    caller.abort(new Error('the client left'));
    await expect(left).rejects.toThrow('the client left');
    asked = [];
    const again = names.resolve('silent.example', { owner: 'a', signal: open.signal });
    void again.catch(() => undefined);
    await expect.poll(() => asked).toContain('silent.example');
  });

  it('refuses what one account would have to wait too long for', async () => {
    const names = resolver({ queryMs: 600_000, lookupsPerOwner: 1 });
    const caller = new AbortController();
    setMaxListeners(0, caller.signal);
    const order = { owner: 'a', signal: caller.signal };
    const waiting = Array.from({ length: 65 }, (_, index) => names.resolve(`silent${index}.example`, order));
    const ends = Promise.allSettled(waiting);
    // The hosts file is looked at first.
    await expect.poll(() => asked.length).toBeGreaterThan(0);
    await expect(names.resolve('public.example', order)).rejects.toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    expect(await names.resolve('public.example', of('b'))).toHaveLength(1);
    caller.abort();
    await ends;
  });

  it('knows local names without asking', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-hosts-'));
    const path = join(folder, 'hosts');
    await writeFile(path, '# local\n10.1.2.3 Files files.internal # ours\nfd00::3\tfiles\n\nnot-an-address x\n');
    const names = resolver({ hosts: new HostsFile(path) });
    expect(await names.resolve('FILES', of('a'))).toEqual([
      { address: '10.1.2.3', family: 4 },
      { address: 'fd00::3', family: 6 },
    ]);
    expect(await names.resolve('localhost', of('a'))).toEqual([{ address: '127.0.0.1', family: 4 }]);
    expect(await names.resolve('a.localhost', of('a'))).toEqual([{ address: '127.0.0.1', family: 4 }]);
    expect(asked).toEqual([]);
    await rm(folder, { recursive: true });
    expect(await new HostsFile(path).find('files')).toEqual([]);
  });
});
