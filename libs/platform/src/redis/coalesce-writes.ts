import type { Writable } from 'node:stream';

/**
 * Lets what is written in one turn of the loop leave as one packet: on a busy connection most of the time of a command is
 * its system call. The client's own way to do that (`enableAutoPipelining`) makes an object of some 600 members per
 * turn and holds every pipeline back until the one before is answered.
 */
export function coalesceWrites(socket: Writable): void {
  let held = false;
  const release = (): void => {
    held = false;
    socket.uncork();
  };
  const write = socket.write.bind(socket) as (...given: unknown[]) => boolean;
  socket.write = (...given: unknown[]): boolean => {
    if (!held) {
      held = true;
      socket.cork();
      setImmediate(release);
    }
    return write(...given);
  };
}
