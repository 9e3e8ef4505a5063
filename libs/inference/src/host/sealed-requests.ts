import { noTokens, PlatformError } from '#common';
import { readPublicKey, type SharedSecret } from '#tee/sealing';
import type { EngineEvent } from '../contract/engine.js';
import type { TextGenerationRequest } from '../contract/text-generation.js';
import { openSealedRequest, sealingError } from './sealed-input.js';
import { SealedOutput } from './sealed-output.js';
import { SeenFields } from './seen-fields.js';

/** The key of this host, or null where it has none. */
export interface SealingKey {
  readonly publicKey: string;
  readonly sharedSecret: SharedSecret;
}

interface SealedRequestsDependencies {
  key(): SealingKey | null;
  /** Gives a request in clear to the engine. */
  submit(request: TextGenerationRequest): void;
  /** Sends events of requests that the engine has not got. */
  send(id: string, event: EngineEvent): void;
}

/**
 * Sealed requests of a host: opens what comes in before the engine gets it, and seals what the engine says about it. The
 * texts are in clear in this process only.
 */
export class SealedRequests {
  private readonly seen = new SeenFields();
  private readonly running = new Map<string, SealedOutput>();
  /** Requests that are being opened, and whether they were cancelled meanwhile. */
  private readonly opening = new Map<string, { isCancelled: boolean }>();

  constructor(private readonly dependencies: SealedRequestsDependencies) {}

  submit(request: TextGenerationRequest): void {
    const { id } = request;
    const state = { isCancelled: false };
    this.opening.set(id, state);
    void this.open(request).then(
      ({ opened, output }) => {
        this.opening.delete(id);
        if (state.isCancelled) return this.dependencies.send(id, cancelled());
        this.running.set(id, output);
        this.dependencies.submit(opened);
      },
      (error: unknown) => {
        this.opening.delete(id);
        const failure = PlatformError.from(error, 'INFERENCE_FAILED').toWire();
        this.dependencies.send(id, { type: 'failed', error: failure, usage: null });
      },
    );
  }

  /** Cancels a request that the engine has not got yet; false for others. */
  cancel(id: string): boolean {
    const state = this.opening.get(id);
    if (state !== undefined) state.isCancelled = true;
    return state !== undefined;
  }

  /** The events of a step as they may leave the host; those of requests that are not sealed stay as they are. */
  translate(events: [id: string, event: EngineEvent][]): [id: string, event: EngineEvent][] {
    if (this.running.size === 0) return events;
    return events.flatMap(([id, event]) => this.translated(id, event).map((sent): [string, EngineEvent] => [id, sent]));
  }

  private translated(id: string, event: EngineEvent): EngineEvent[] {
    const output = this.running.get(id);
    if (output === undefined) return [event];
    if (event.type === 'finished' || event.type === 'failed') this.running.delete(id);
    return output.translate(event);
  }

  private async open(request: TextGenerationRequest): Promise<{ opened: TextGenerationRequest; output: SealedOutput }> {
    const { sealing, ...rest } = request;
    const key = this.dependencies.key();
    if (sealing === undefined || key?.publicKey !== sealing.hostPublicKey.toLowerCase()) {
      throw sealingError('not-opened');
    }
    const clientKey = readPublicKey(sealing.clientPublicKey);
    if (clientKey === null) throw sealingError('invalid-key');
    const opened = await openSealedRequest(
      { ...rest, topLogprobs: null },
      {
        sharedSecret: key.sharedSecret,
        admits: (field) => this.seen.admit(field, sealing.clientPublicKey),
      },
    );
    return { opened, output: new SealedOutput(clientKey, sealing) };
  }
}

function cancelled(): EngineEvent {
  return { type: 'finished', cancelled: true, usage: { ...noTokens } };
}
