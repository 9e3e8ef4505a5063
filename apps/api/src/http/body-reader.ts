import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import { freeBytes } from '#platform/memory';
import type { BodyBudget, BodyReservation } from './body-budget.js';
import { BodyPacer } from './body-pacer.js';

/** How slowly a body may arrive. */
export interface MinimumRate {
  /** Bytes that must arrive in each window; the last one may have fewer. */
  windowBytes: number;
  windowMs: number;
}

/** 16 kB/s, as of a poor mobile connection. */
export const minimumRate: MinimumRate = { windowBytes: 240 * 1024, windowMs: 15_000 };

function sizeText(bytes: number): string {
  return bytes < 1024 * 1024 ? `${Math.floor(bytes / 1024)} kB` : `${Math.floor(bytes / (1024 * 1024))} MB`;
}

/** Reads whole bodies: within the limit of their route, the budget of their caller, and no slower than a minimum rate. */
export class BodyReader {
  private readonly reservations = new WeakMap<FastifyRequest, BodyReservation>();
  private readonly pacer = new BodyPacer();

  constructor(
    private readonly budget: BodyBudget,
    private readonly rate: MinimumRate = minimumRate,
    /** What counts as one address: IPv6 clients have a whole network. */
    private readonly addressOf: (ip: string) => string = (ip) => ip,
  ) {}

  /** Gives back the bytes of each request when it ends, and discards what was not read until its response. */
  attach(server: FastifyInstance): void {
    server.addHook('onRequest', (request, reply, done) => {
      reply.raw.once('close', () => this.reservations.get(request)?.release());
      done();
    });
    server.addHook('onSend', (request, _reply, body, done) => {
      // Node would else read it as fast as it arrives.
      if (!request.raw.complete && !this.reservations.has(request)) this.pacer.discard(request.raw);
      done(null, body);
    });
  }

  /**
   * Rejects with `PAYLOAD_TOO_LARGE`, `RATE_LIMIT_EXCEEDED` or `SERVICE_UNAVAILABLE` before the body is read if its
   * announced length says so, and with `INVALID_REQUEST` when it ends early or is too slow.
   */
  async read(request: FastifyRequest, payload: IncomingMessage, limitBytes: number): Promise<Buffer<ArrayBuffer>> {
    const length = request.headers['content-length'];
    const announced = length === undefined ? null : Number(length);
    if ((announced ?? 0) > limitBytes) throw tooLarge(limitBytes);
    const source = { apiKeyId: request.caller?.apiKeyId ?? null, address: this.addressOf(request.ip) };
    this.budget.check(source, announced ?? 0);
    const reservation = this.budget.open(source);
    this.reservations.set(request, reservation);
    const parts = announced === null ? new UnknownLength() : new KnownLength(announced);
    let received = 0;
    try {
      await this.receive(payload, source.apiKeyId ?? source.address, (part) => {
        received += part.length;
        if (received > limitBytes) throw tooLarge(limitBytes);
        reservation.add(part.length);
        parts.add(part);
      });
      return parts.whole();
    } catch (error) {
      parts.free();
      throw error;
    }
  }

  /**
   * Passes each part on when the pacer lets it arrive. Rejects when the sink throws, the connection ends, or too little
   * arrives in a window.
   */
  private async receive(payload: IncomingMessage, callerId: string, sink: (part: Buffer) => void): Promise<void> {
    const { windowBytes, windowMs } = this.rate;
    let inWindow = 0;
    let timer: NodeJS.Timeout | undefined;
    let stop = (): void => undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const onData = (part: Buffer): void => {
          inWindow += part.length;
          this.pacer.pause(payload, part, callerId);
          try {
            sink(part);
          } catch (error) {
            freeBytes(part);
            reject(error as Error);
          }
        };
        const onError = (error: Error): void => reject(cutOff(error));
        const onClose = (): void => reject(cutOff());
        const checkRate = (): void => {
          if (inWindow < windowBytes) reject(tooSlow(this.rate));
          inWindow = 0;
        };
        // The check runs after data that arrived while the event loop was busy.
        timer = setInterval(() => setImmediate(checkRate), windowMs);
        if (payload.destroyed && !payload.readableEnded) reject(cutOff());
        payload.on('data', onData).on('end', resolve).on('error', onError).on('close', onClose);
        stop = () => payload.off('data', onData).off('end', resolve).off('close', onClose);
      });
    } finally {
      clearInterval(timer);
      stop();
      this.pacer.discard(payload);
    }
  }
}

/** The parts of a body that have arrived; their bytes are theirs. */
interface ReceivedParts {
  add(part: Buffer): void;
  /** Returns the complete body, once. */
  whole(): Buffer<ArrayBuffer>;
  /** Of a refused body. */
  free(): void;
}

/** A body of a known length is written where it will stay, not collected and copied. */
class KnownLength implements ReceivedParts {
  private readonly buffer: Buffer<ArrayBuffer>;
  private filled = 0;

  constructor(length: number) {
    this.buffer = Buffer.allocUnsafeSlow(length);
  }

  add(part: Buffer): void {
    if (this.filled + part.length > this.buffer.length) throw cutOff();
    this.filled += part.copy(this.buffer, this.filled);
    freeBytes(part);
  }

  whole(): Buffer<ArrayBuffer> {
    if (this.filled !== this.buffer.length) throw cutOff();
    return this.buffer;
  }

  free(): void {
    freeBytes(this.buffer);
  }
}

class UnknownLength implements ReceivedParts {
  private readonly parts: Buffer[] = [];
  private length = 0;

  add(part: Buffer): void {
    this.parts.push(part);
    this.length += part.length;
  }

  whole(): Buffer<ArrayBuffer> {
    const whole = new KnownLength(this.length);
    for (const part of this.parts.splice(0)) whole.add(part);
    return whole.whole();
  }

  free(): void {
    for (const part of this.parts.splice(0)) freeBytes(part);
  }
}

function tooLarge(limitBytes: number): PlatformError {
  return new PlatformError('PAYLOAD_TOO_LARGE', `The body is larger than ${sizeText(limitBytes)}.`);
}

function tooSlow({ windowBytes, windowMs }: MinimumRate): PlatformError {
  const rate = Math.floor(windowBytes / 1024 / (windowMs / 1000));
  return new PlatformError('INVALID_REQUEST', `The body arrived more slowly than ${rate} kB/s.`);
}

function cutOff(cause?: Error): PlatformError {
  const message = 'The connection ended in the middle of the request.';
  return new PlatformError('INVALID_REQUEST', message, null, cause ? { cause } : {});
}
