import { PlatformError } from '#common';
import type { HostProcess } from './host-process.js';
import type { HostMessage } from './host-protocol.js';
import type { HostInquiry } from './host-tee.js';

interface Waiting {
  resolve(answer: object): void;
  reject(error: PlatformError): void;
}

/** Questions to one host that are not answered yet. None survives its host: the next one has another key. */
export class HostInquiries {
  private readonly waiting = new Map<number, Waiting>();
  private count = 0;

  /** Rejects with the error of the host, or when it ends first. `host`: null while there is none. */
  ask(host: HostProcess | null, inquiry: HostInquiry): Promise<object> {
    return new Promise((resolve, reject) => {
      if (host === null) return reject(hostGone());
      const id = ++this.count;
      this.waiting.set(id, { resolve, reject });
      host.send({ type: 'ask', id, inquiry });
    });
  }

  accept({ id, answer, error }: Extract<HostMessage, { type: 'answer' }>): void {
    const asker = this.waiting.get(id);
    this.waiting.delete(id);
    if (error !== undefined) asker?.reject(PlatformError.fromWire(error));
    else asker?.resolve(answer ?? {});
  }

  hostEnded(): void {
    for (const { reject } of this.waiting.values()) reject(hostGone());
    this.waiting.clear();
  }
}

function hostGone(): PlatformError {
  return new PlatformError('MODEL_OFFLINE', 'The host of the model is being started again, with another key.');
}
