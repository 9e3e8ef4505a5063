import { MessageChannel, type MessagePort } from 'node:worker_threads';

let discarded: MessagePort | null = null;

/**
 * Frees the memory of an array now; it is empty afterwards and must not be used. V8 answers megabytes of buffers that
 * come and go (outputs of a graph, parts of a body) with a full garbage collection every few of them.
 */
export function freeBytes(data: unknown): void {
  if (!ArrayBuffer.isView(data) || !(data.buffer instanceof ArrayBuffer)) return;
  // A view of a larger buffer: others use the rest of it.
  if (data.byteLength === 0 || data.byteLength !== data.buffer.byteLength) return;
  // What is transferred to a closed port is freed at once. Node 20 has no ArrayBuffer.prototype.transfer.
  discarded ??= closedPort();
  discarded.postMessage(null, [data.buffer]);
}

function closedPort(): MessagePort {
  const { port1 } = new MessageChannel();
  // Closed from its own side, it drops what it is given at once, not in the next turn of the event loop.
  port1.close();
  return port1;
}
