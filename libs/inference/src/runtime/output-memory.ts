import { MessageChannel, type MessagePort } from 'node:worker_threads';

let discarded: MessagePort | null = null;

/**
 * Frees the memory of a graph's output now; the array is empty afterwards. The runtime's package allocates a new buffer
 * for every output, and V8 answers megabytes of them per step with a full garbage collection every few steps.
 */
export function freeOutput(data: unknown): void {
  if (!ArrayBuffer.isView(data) || !(data.buffer instanceof ArrayBuffer)) return;
  // A view of a larger buffer: others use the rest of it.
  if (data.byteLength === 0 || data.byteLength !== data.buffer.byteLength) return;
  // What is transferred to a closed port is freed at once. Node 20 has no ArrayBuffer.prototype.transfer.
  discarded ??= closedPort();
  discarded.postMessage(null, [data.buffer]);
}

function closedPort(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  port2.close();
  return port1;
}
