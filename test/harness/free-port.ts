import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below what Linux gives to outgoing connections and to whoever listens on port 0: a port from there may be taken by any
 * connection in the second that a process needs to bind it.
 */
const lowest = 12_000;
const highest = 32_000;

/** A TCP port of this machine that nobody listens on, and that nobody gets by chance. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, highest);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
    );
    server.listen({ port, host: '127.0.0.1' }, () => server.close(() => resolve(true)));
  });
}
