import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** Target of a connection: a checked address, never a name. */
export interface DialTarget {
  address: string;
  family: 4 | 6;
  port: number;
  /** Set for https: the name that the certificate must have. */
  serverName: string | null;
}

/** Opens a connection; resolves when it is established. Tests replace it to see what would be dialed. */
export type Dialer = (target: DialTarget, options: { timeoutMs: number; signal?: AbortSignal }) => Promise<Socket>;

export const systemDialer: Dialer = ({ address, family, port, serverName }, { timeoutMs, signal }) =>
  new Promise((resolve, reject) => {
    const socket =
      serverName === null
        ? connectTcp({ host: address, port, family })
        : connectTls({ host: address, port, servername: serverName, ALPNProtocols: ['http/1.1'] });
    const ready = serverName === null ? 'connect' : 'secureConnect';
    const fail = (error: Error): void => {
      socket.destroy();
      finish();
      reject(error);
    };
    const onAbort = (): void => fail(new Error('aborted'));
    const timer = setTimeout(() => fail(new Error('the connection was not made in time')), timeoutMs);
    const finish = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      socket.removeListener('error', fail);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    socket.once('error', fail);
    // The caller attaches its listener one turn later; a peer error until then must not end the process.
    socket.on('error', () => undefined);
    socket.once(ready, () => {
      finish();
      resolve(socket);
    });
    if (signal?.aborted) onAbort();
  });
