import { Inject, Injectable } from '@nestjs/common';
import { QueueTransport } from '#queue';

/** Finds model hosts by the keys that heartbeats name. */
@Injectable()
export class HostKeys {
  constructor(@Inject(QueueTransport) private readonly transport: Pick<QueueTransport, 'membership'>) {}

  /** The worker whose host of a model has a key, as lower-case hex; null if no live one has it: it may have restarted. */
  processOf(modelId: string, publicKey: string): string | null {
    const found = this.transport.membership
      .list()
      .find(({ models }) =>
        models.some(
          (served) => served.modelId === modelId && served.state === 'ready' && served.tee?.publicKey === publicKey,
        ),
      );
    return found?.processId ?? null;
  }
}
