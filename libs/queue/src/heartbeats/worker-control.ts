import { storeCall } from '../contract/store-call.js';
import type { BusSender, SignedBus } from '../trust/bus/signed-bus.js';

const channel = 'worker-control';

/** What an operator tells one worker: to take no more jobs, or to take them again. */
export interface WorkerCommand {
  processId: string;
  action: 'drain' | 'resume';
}

/** Commands of operators for workers. Lossy: heartbeats show whether a worker follows. */
export interface WorkerControl {
  /** Rejects with the error of an unavailable store. */
  send(command: WorkerCommand): Promise<void>;
  /** Called for every command; the returned function unsubscribes. */
  subscribe(listener: (command: WorkerCommand) => void): () => void;
}

/** Commands over the store's bus. Only the installation may send them: a pool must not stop the workers of another. */
export class BusWorkerControl implements WorkerControl {
  private readonly listeners = new Set<(command: WorkerCommand) => void>();
  private unsubscribe: () => void = () => undefined;

  constructor(private readonly bus: SignedBus) {}

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

/** Returns null for what no process of ours sends. */
function readCommand(text: string): WorkerCommand | null {
  const value = JSON.parse(text) as Partial<Record<keyof WorkerCommand, unknown>> | null;
  const { processId, action } = value ?? {};
  const isCommand = typeof processId === 'string' && (action === 'drain' || action === 'resume');
  return isCommand ? { processId, action } : null;
}
