import type { FastifyReply } from 'fastify';

/** Returns a signal that aborts when the connection closes before the response is sent. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  if (reply.raw.destroyed || reply.raw.socket?.destroyed === true) controller.abort();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  return controller.signal;
}
