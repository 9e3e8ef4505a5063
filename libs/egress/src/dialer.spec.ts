import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { systemDialer } from './dialer.js';

describe('the dialer', () => {
  it('returns a socket whose peer may fail before a listener is attached', async () => {
    const server = createServer((socket) => void socket.on('error', () => undefined)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const socket = await systemDialer(
      { address: '127.0.0.1', family: 4, port, serverName: null },
      { timeoutMs: 10_000 },
    );
    try {
      expect(() => socket.emit('error', new Error('a record with a bad MAC'))).not.toThrow();
    } finally {
      socket.destroy();
      server.close();
    }
  });
});
