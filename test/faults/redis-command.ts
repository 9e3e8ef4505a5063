import { connect } from 'node:net';

/** Sends one command, e.g. `FLUSHALL`, in the protocol's own words; resolves to the first line of the reply. */
export function redisCommand({ port }: { port: number }, ...words: string[]): Promise<string> {
  const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(`*${words.length}\r\n${parts.join('')}`));
    socket.once('data', (bytes) => {
      resolve(bytes.toString('utf8').split('\r\n', 1)[0] ?? '');
      socket.destroy();
    });
    socket.once('error', reject);
  });
}
