import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AccessLog } from '#gateway/access-log';
import type { Logger } from '#platform/logging';
import { sendClientError } from './client-error.js';

describe('sendClientError', () => {
  let server: FastifyInstance;
  let socket: Socket;
  let received = '';
  const lines: unknown[] = [];
  const logger = { info: (line: unknown) => void lines.push(line) } as unknown as Pick<Logger, 'info'>;
  const accessLog = new AccessLog(logger, { isOn: true, meter: () => [] });

  beforeEach(async () => {
    server = Fastify({
      clientErrorHandler: (error, broken) => sendClientError(error, broken, { site: 'SLC', version: '1', accessLog }),
    });
    await server.listen({ host: '127.0.0.1', port: 0 });
    const address = server.server.address() as AddressInfo;
    // A peer that keeps its half of the connection open after the server ends.
    socket = connect({ host: '127.0.0.1', port: address.port, allowHalfOpen: true });
    received = '';
    lines.length = 0;
    socket.on('data', (part: Buffer) => (received += part.toString()));
    socket.on('error', () => undefined);
    await once(socket, 'connect');
  });

  afterEach(async () => {
    socket.destroy();
    await server.close();
  });

  /** Resolves to the number of server connections once it is 0, or after 10 s. */
  async function connectionsLeft(): Promise<number> {
    for (let tries = 0; ; tries += 1) {
      const count = await new Promise<number>((resolve) =>
        server.server.getConnections((_error, left) => resolve(left)),
      );
      if (count === 0 || tries === 200) return count;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  it('responds and closes a connection that its client never closes', async () => {
    socket.write('no HTTP\r\n\r\n');
    await once(socket, 'end');
    expect(received).toMatch(/^HTTP\/1\.1 400 [^]*"code":"INVALID_REQUEST"/);
    expect(await connectionsLeft()).toBe(0);
  }, 20_000);

  it('logs the request under the id that the client sees', async () => {
    socket.write('no HTTP\r\n\r\n');
    await once(socket, 'end');
    const requestId = /^cf-ray: (.*)\r$/m.exec(received)?.[1];
    expect(lines).toMatchObject([{ requestId, status: 400, code: 'INVALID_REQUEST', client: '127.0.0.1' }]);
  });

  it('responds once to a client that keeps sending invalid HTTP', async () => {
    const ended = once(socket, 'end');
    for (let part = 0; part < 20; part += 1) {
      socket.write('no HTTP\r\n\r\n');
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await ended;
    expect(received.match(/HTTP\/1\.1 400/g)).toHaveLength(1);
    expect(received).toContain('"code":"INVALID_REQUEST"');
  });
});
