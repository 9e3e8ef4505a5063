import { createHash } from 'node:crypto';
import type { MessageBus } from '../contract/message-bus.js';
import type { Seals } from '../contract/seals.js';

interface ClaimMessage {
  queue: string;
  /**
   * Sealed when there are keys: every worker hears the bus, and a worker that knows the id of a request can write into
   * its response.
   */
  requestId: string;
  /** True when the job may use a spare slot. */
  isSpare?: boolean;
}

/**
 * Tells a worker which sticky job to claim, on a channel of its own. Lossy: a job whose message is lost goes to any worker
 * when its delay ends.
 */
export class ClaimBus {
  constructor(
    private readonly bus: MessageBus,
    private readonly seals: Seals,
  ) {}

  /** Never rejects. */
  async send(workerId: string, { queue, requestId, isSpare }: ClaimMessage): Promise<void> {
    const seal = this.seals.sealOf(modelOf(queue));
    const sealed = seal === null ? requestId : seal.seal(placeOf(queue), requestId);
    const message: ClaimMessage = { queue, requestId: sealed, ...(isSpare === true && { isSpare }) };
    await this.bus.publish(channelOf(workerId), JSON.stringify(message)).catch(() => undefined);
  }

  /** Receives the messages about one queue until the returned function is called. */
  async subscribe(
    workerId: string,
    queue: string,
    listener: (requestId: string, isSpare: boolean) => void,
  ): Promise<() => void> {
    return await this.bus.subscribe(channelOf(workerId), (text) => {
      const message = JSON.parse(text) as ClaimMessage;
      const requestId = message.queue === queue ? this.open(message) : null;
      if (requestId !== null) listener(requestId, message.isSpare === true);
    });
  }

  /** Returns null for an id that cannot be opened here, or was not sealed although there are keys. */
  private open({ queue, requestId }: ClaimMessage): string | null {
    if (this.seals.isEmpty) return requestId;
    try {
      return this.seals.sealOf(modelOf(queue))?.open(placeOf(queue), requestId) ?? null;
    } catch {
      return null;
    }
  }
}

/** Postgres accepts channel names of 63 bytes at most. */
function channelOf(workerId: string): string {
  return `claim_${createHash('sha256').update(workerId).digest('hex').slice(0, 16)}`;
}

/** Returns the model of a queue, whose name is modality and model with a dot between them. */
function modelOf(queue: string): string {
  return queue.slice(queue.indexOf('.') + 1);
}

function placeOf(queue: string): string {
  return `claim ${queue}`;
}
