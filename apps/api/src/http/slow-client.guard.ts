import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';

/**
 * Disconnects clients that read nothing of their response, or send nothing of their request, for `stalledMs`. Slow
 * clients that make progress stay, as do clients that wait for a response. Partial writes count, so 1 kB/s is progress.
 */
export function addSlowClientGuard(server: FastifyInstance, stalledMs: number): void {
  server.addHook('onRequest', (request, reply, done) => {
    const { raw } = request;
    const { socket } = raw;
    const wind = (): void => void socket.setTimeout(stalledMs);
    const check = async (): Promise<void> => {
      const isWaited = socket.writableLength === 0 && raw.complete;
      if (isWaited || (await hasMoved(socket))) wind();
      else socket.destroy();
    };
    reply.raw.on('timeout', () => void check());
    wind();
    done();
  });
}

/**
 * Whether bytes have arrived or left that this process has not noticed. Timers run before input and output, so after a
 * blocked event loop or a paused machine every timer has expired while the bytes wait in the system's buffers.
 */
async function hasMoved(socket: Socket): Promise<boolean> {
  const { bytesRead, writableLength } = socket;
  // The second turn is of a body that pauses for one.
  for (let turn = 0; turn < 2; turn += 1) await nextTurn();
  return socket.bytesRead > bytesRead || socket.writableLength < writableLength;
}
