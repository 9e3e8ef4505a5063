import type { WorkerCommand, WorkerControl } from '../contract/worker-control.js';
import { storeCall } from '../contract/store-call.js';
import type { BusSender, VerifiedBus } from '../contract/message-bus.js';

const channel = 'worker-control';

/** Commands over the store's bus. Only the installation may send them: a pool must not stop the workers of another. */
export class BusWorkerControl implements WorkerControl {
  private readonly listeners = new Set<(command: WorkerCommand) => void>();
  private unsubscribe: () => void = () => undefined;

  constructor(private readonly bus: VerifiedBus) {}

  async start(): Promise<void> {
    this.unsubscribe = await this.bus.subscribe(channel, (text, sender) => this.receive(text, sender));
  }

  async send(command: WorkerCommand): Promise<void> {
    await storeCall(() => this.bus.publish(channel, JSON.stringify(command)));
  }

  subscribe(listener: (command: WorkerCommand) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  close(): void {
    this.unsubscribe();
    this.listeners.clear();
  }

  private receive(text: string, sender: BusSender): void {
    if (sender.models !== null) return this.bus.refuse(channel, sender);
    const command = readCommand(text);
    if (command === null) return;
    for (const listener of this.listeners) listener(command);
  }
}

/** Returns null for a text that no process of Sluice sends. */
function readCommand(text: string): WorkerCommand | null {
  const value = JSON.parse(text) as Partial<Record<keyof WorkerCommand, unknown>> | null;
  const { processId, action } = value ?? {};
  const isCommand = typeof processId === 'string' && (action === 'drain' || action === 'resume');
  return isCommand ? { processId, action } : null;
}
