import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type Heartbeat, QueueTransport, type ServedModelState } from '#queue';

type HostAddress = Omit<Parameters<QueueTransport['hosts']['ask']>[0], 'question'>;

/** A model host with a key. */
export type TeeHost = HostAddress & NonNullable<ServedModelState['tee']>;

/** The model hosts that have keys now, as their workers publish them. */
@Injectable()
export class TeeHosts implements OnApplicationShutdown {
  private hosts: readonly TeeHost[] = [];
  private readonly stop: () => void;

  constructor(private readonly transport: QueueTransport) {
    this.stop = transport.membership.onChange((heartbeats) => (this.hosts = hostsOf(heartbeats)));
  }

  /** False when no host has a key, so that nothing needs to be signed. */
  get isInUse(): boolean {
    return this.hosts.length > 0;
  }

  /** Returns the hosts of a model. Those with evidence of hardware come first. */
  of(modelId: string): TeeHost[] {
    const found = this.hosts.filter((host) => host.modelId === modelId);
    return found.toSorted((one, other) => rank(one) - rank(other));
  }

  /** Returns the host of a model in a process, or null if it has no key. */
  find({ processId, modelId }: HostAddress): TeeHost | null {
    return this.hosts.find((host) => host.processId === processId && host.modelId === modelId) ?? null;
  }

  /** Rejects with the error of the host, or with `SERVICE_UNAVAILABLE`. */
  async ask({ processId, modelId }: HostAddress, question: object, timeoutMs: number): Promise<object> {
    return await this.transport.hosts.ask({ processId, modelId, question }, timeoutMs);
  }

  onApplicationShutdown(): void {
    this.stop();
  }
}

function hostsOf(heartbeats: readonly Heartbeat[]): TeeHost[] {
  return heartbeats.flatMap(({ processId, models }) =>
    models.flatMap(({ modelId, state, tee }) =>
      tee === undefined || state !== 'ready' ? [] : [{ processId, modelId, ...tee }],
    ),
  );
}

function rank({ provider }: TeeHost): number {
  return provider === 'software' ? 1 : 0;
}
