import type { Writable } from 'node:stream';

/**
 * Sends all writes of one event loop turn as one packet, because on a busy connection the system call dominates. The
 * client's own `enableAutoPipelining` creates a large object per turn and delays each pipeline until the previous one
 * has its replies.
 */
export function coalesceWrites(socket: Writable): void {
  let held = false;
  const release = (): void => {
    held = false;
    socket.uncork();
  };
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  socket.write = (...args: unknown[]): boolean => {
    if (!held) {
      held = true;
      socket.cork();
      setImmediate(release);
    }
    return write(...args);
  };
}
