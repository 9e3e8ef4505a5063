import { PlatformError } from '#common';

/** Whose body it is. */
export interface BodySource {
  /** Id of the API key; null without one. */
  apiKeyId: string | null;
  /** As limits count it. */
  address: string;
}

/** Bytes of bodies that may be in memory at once. */
export interface BodyBudgetLimits {
  processBytes: number;
  addressBytes: number;
  keyBytes: number;
}

/** Seconds after which a refused body may fit. */
const retrySeconds = 5;

const megabytes = (bytes: number): string => `${Math.floor(bytes / (1024 * 1024))} MB`;

/** Bytes of one request's body. They count until the request ends, because its handler keeps what was parsed. */
export class BodyReservation {
  private bytes = 0;

  constructor(
    private readonly budget: BodyBudget,
    private readonly source: BodySource,
  ) {}

  /** Throws `RATE_LIMIT_EXCEEDED` or `SERVICE_UNAVAILABLE` when the bytes do not fit; then nothing is counted. */
  add(bytes: number): void {
    this.budget.check(this.source, bytes);
    this.budget.count(this.source, bytes);
    this.bytes += bytes;
  }

  release(): void {
    this.budget.count(this.source, -this.bytes);
    this.bytes = 0;
  }
}

/** Limits the bytes of bodies in memory: per API key and per address, so that no caller takes it all, and in total. */
export class BodyBudget {
  private total = 0;
  private readonly keys = new Map<string, number>();
  private readonly addresses = new Map<string, number>();

  constructor(private readonly limits: BodyBudgetLimits) {}

  /** Bytes in memory now. */
  get usedBytes(): number {
    return this.total;
  }

  open(source: BodySource): BodyReservation {
    return new BodyReservation(this, source);
  }

  /** Throws unless that many more bytes fit. Requests without a body never fail. */
  check({ apiKeyId, address }: BodySource, bytes: number): void {
    if (bytes === 0) return;
    const { processBytes, addressBytes, keyBytes } = this.limits;
    if (apiKeyId !== null && (this.keys.get(apiKeyId) ?? 0) + bytes > keyBytes) throw exceeded('API key', keyBytes);
    if ((this.addresses.get(address) ?? 0) + bytes > addressBytes) throw exceeded('address', addressBytes);
    if (this.total + bytes > processBytes) {
      const retry = { afterSeconds: retrySeconds };
      const message = `The requests in progress hold ${megabytes(processBytes)} of bodies, the limit of this process.`;
      throw new PlatformError('SERVICE_UNAVAILABLE', message, null, { retry });
    }
  }

  count({ apiKeyId, address }: BodySource, bytes: number): void {
    this.total += bytes;
    add(this.addresses, address, bytes);
    if (apiKeyId !== null) add(this.keys, apiKeyId, bytes);
  }
}

function add(counts: Map<string, number>, name: string, bytes: number): void {
  const sum = (counts.get(name) ?? 0) + bytes;
  if (sum === 0) counts.delete(name);
  else counts.set(name, sum);
}

function exceeded(owner: string, limit: number): PlatformError {
  const message = `The requests in progress of this ${owner} hold more than ${megabytes(limit)} of bodies.`;
  return new PlatformError('RATE_LIMIT_EXCEEDED', message, null, { retry: { afterSeconds: retrySeconds } });
}
