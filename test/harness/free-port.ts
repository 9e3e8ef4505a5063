import { createServer } from 'node:net';

/** A TCP port nobody listens on right now, from the system's own choice. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') return reject(new Error('the probe got no port'));
      server.close(() => resolve(address.port));
    });
  });
}
