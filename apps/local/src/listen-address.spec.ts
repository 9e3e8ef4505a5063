import { createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { StartRefusal } from '#platform/process';
import { choosePort, originOf } from './listen-address.js';

describe('choosePort', () => {
  let server: Server | undefined;

  afterEach(() => new Promise<void>((done) => (server ? server.close(() => done()) : done())));

  it('returns a free port for 0 and the requested port when it is free', async () => {
    const port = await choosePort('127.0.0.1', 0);
    expect(port).toBeGreaterThan(0);
    expect(await choosePort('127.0.0.1', port)).toBe(port);
  });

  it('names a port that is in use', async () => {
    const port = await choosePort('127.0.0.1', 0);
    const taken = createServer();
    server = taken;
    await new Promise<void>((done) => taken.listen(port, '127.0.0.1', done));
    const attempt = choosePort('127.0.0.1', port);
    await expect(attempt).rejects.toThrow(`Port ${port} on 127.0.0.1 is taken`);
    await expect(attempt).rejects.toBeInstanceOf(StartRefusal);
  });

  it('refuses an address that this machine does not have', async () => {
    await expect(choosePort('192.0.2.1', 3000)).rejects.toThrow('Check HOST and PORT');
  });
});

describe('originOf', () => {
  it.each([
    ['127.0.0.1', 'http://127.0.0.1:3000'],
    ['0.0.0.0', 'http://127.0.0.1:3000'],
    ['::', 'http://127.0.0.1:3000'],
    ['::1', 'http://[::1]:3000'],
    ['gpu-box', 'http://gpu-box:3000'],
  ])('builds a local URL for %s', (host, origin) => {
    expect(originOf(host, 3000)).toBe(origin);
  });
});
