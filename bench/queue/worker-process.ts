import { openRawWorker } from './raw-bull.js';
import { openSluiceWorker } from './sluice-queue.js';
import { preciseNowMs } from './load.js';
import type { WorkerMessage, WorkerRequest } from './worker-link.js';

/** Entry of the worker process: `worker-process.js raw|sluice URL NAMESPACE`. Ends when its parent disconnects. */
const [, , kind, url = '', namespace = ''] = process.argv;

let isFirst = false;
let left = 0;

function tell(message: WorkerMessage): void {
  process.send?.(message);
}

const events = {
  onPickup(): void {
    if (!isFirst) return;
    isFirst = false;
    tell({ kind: 'picked-up', atMs: preciseNowMs() });
  },
  onCompleted(): void {
    left -= 1;
    if (left === 0) tell({ kind: 'completed' });
  },
};

process.on('message', (request: WorkerRequest) => {
  isFirst = true;
  left = request.expect;
  tell({ kind: 'ready' });
});

const worker = await (kind === 'raw' ? openRawWorker : openSluiceWorker)(url, namespace, events);
process.on('disconnect', () => void worker.close());
tell({ kind: 'ready' });
