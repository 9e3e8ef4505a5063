import { connect } from 'node:net';

/** Sends one command, e.g. `FLUSHALL`, over the Redis protocol; resolves to the first line of the reply. */
export async function redisCommand(server: { port: number }, ...words: string[]): Promise<string> {
  return (await ask(server, words, () => true)).split('\r\n', 1)[0] ?? '';
}

/** Numeric fields of `INFO memory`, e.g. `used_memory`. */
export async function redisMemory(server: { port: number }, field: string): Promise<number> {
  const text = await ask(server, ['INFO', 'memory'], (reply) => {
    const [, length = ''] = /^\$(\d+)\r\n/.exec(reply) ?? [];
    return length !== '' && reply.length >= Number(length) + length.length + 5;
  });
  return Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(text)?.[1]);
}

function ask({ port }: { port: number }, words: string[], isWhole: (reply: string) => boolean): Promise<string> {
  const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  return new Promise((resolve, reject) => {
    let reply = '';
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(`*${words.length}\r\n${parts.join('')}`));
    socket.on('data', (bytes) => {
      reply += bytes.toString('latin1');
      if (!isWhole(reply)) return;
      resolve(reply);
      socket.destroy();
    });
    socket.once('error', reject);
  });
}
