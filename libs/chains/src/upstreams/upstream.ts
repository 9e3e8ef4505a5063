import { type Clock, systemClock } from '#common';
import {
  type OperatorClient,
  OperatorClientError,
  type OperatorRequest,
  type OperatorResponse,
  type OperatorStream,
} from '#egress';
import type { RpcUpstreamSettings } from '#platform/config';
import { within } from '#platform/turns';
import type { RpcNetwork } from '../networks.js';
import { type ChainState, readChainState } from './chain-state.js';

/** Why a node is not asked: another chain, or failures a moment ago. */
export type UpstreamProblem = 'wrong-chain' | 'failing' | null;

export interface UpstreamOptions {
  network: RpcNetwork;
  settings: RpcUpstreamSettings;
  /** Among those of its network, from 1. */
  position: number;
  client: Pick<OperatorClient, 'post' | 'open'>;
  timeoutMs: number;
  clock?: Pick<Clock, 'monotonicMs'>;
}

/** Longest answer of a node, in bytes. */
export const maxAnswerBytes = 16 * 1024 * 1024;

const maxFailures = 3;
/** How long a node that failed several times in a row is left alone, in ms. */
const openMs = 15_000;
/** How long the height of a node says something, in ms. */
const freshMs = 30_000;
/** A wrong chain is looked at again after this time, in ms: the operator may have corrected the node. */
const wrongMs = 60_000;

interface AskOptions {
  signal: AbortSignal;
  isFresh?: boolean;
}

/** A node of the operator: what is known of it, and how to ask it. */
export class Upstream {
  private state: ChainState | null = null;
  private checkedAtMs = -Infinity;
  private checking: Promise<ChainState> | null = null;
  private failures = 0;
  private closedUntilMs = -Infinity;
  private readonly clock: Pick<Clock, 'monotonicMs'>;

  constructor(private readonly options: UpstreamOptions) {
    this.clock = options.clock ?? systemClock;
  }

  /** For the operator: its position and host, without the path, which may hold a key. */
  get label(): string {
    return `${this.options.network.name} #${this.options.position} (${new URL(this.options.settings.url).host})`;
  }

  /** Among those of its network, from 1. */
  get position(): number {
    return this.options.position;
  }

  get isArchive(): boolean {
    return this.options.settings.isArchive;
  }

  get problem(): UpstreamProblem {
    if (this.state !== null && this.state.chainId !== this.options.network.chainId) return 'wrong-chain';
    return this.clock.monotonicMs() < this.closedUntilMs ? 'failing' : null;
  }

  /** Its last known block; null: not known, or too long ago to say something. */
  get height(): bigint | null {
    return this.state !== null && this.clock.monotonicMs() - this.checkedAtMs <= 2 * freshMs ? this.state.height : null;
  }

  /** Whether its chain was never found out, or its height is old. */
  get isStale(): boolean {
    const maxAgeMs = this.problem === 'wrong-chain' ? wrongMs : freshMs;
    return this.clock.monotonicMs() - this.checkedAtMs > maxAgeMs;
  }

  get isKnown(): boolean {
    return this.state !== null;
  }

  /** Asks for its chain and height, once for all who wait. Rejects as `ask`, and if it does not say them. */
  async check(signal: AbortSignal): Promise<ChainState> {
    this.checking ??= this.readState().finally(() => (this.checking = null));
    return await within(signal, this.checking);
  }

  /** Goes on when who asked first has left: others may wait for it. */
  private async readState(): Promise<ChainState> {
    const { network, timeoutMs } = this.options;
    const ask = (body: Uint8Array) => this.ask(body, { signal: AbortSignal.timeout(timeoutMs) });
    const state = await readChainState(network, ask);
    this.checkedAtMs = this.clock.monotonicMs();
    this.state = state;
    return state;
  }

  /** Rejects with `OperatorClientError` or the signal's reason. Counts failures. `isFresh`: never asks twice. */
  async ask(body: Uint8Array, { signal, isFresh = false }: AskOptions): Promise<OperatorResponse> {
    const { client } = this.options;
    return await this.exchange(isFresh, (fresh) => client.post(this.requestOf(body, signal, fresh)));
  }

  /** As `ask`; resolves when the answer has ended, or its first bytes are here. */
  async open(body: Uint8Array, headBytes: number, { signal, isFresh = false }: AskOptions): Promise<OperatorStream> {
    const { client } = this.options;
    return await this.exchange(isFresh, (fresh) => client.open(this.requestOf(body, signal, fresh), headBytes));
  }

  private requestOf(body: Uint8Array, signal: AbortSignal, isFresh: boolean): OperatorRequest {
    const { timeoutMs, settings } = this.options;
    return { url: settings.url, body, timeoutMs, maxBytes: maxAnswerBytes, signal, isFresh };
  }

  private async exchange<Response>(isFresh: boolean, send: (isFresh: boolean) => Promise<Response>): Promise<Response> {
    try {
      return await send(isFresh).catch((error: unknown) => {
        // The node may have closed the idle connection just now. What changes the chain has a connection of its own.
        const isLost = error instanceof OperatorClientError && error.fault === 'lost';
        if (isLost && !isFresh) return send(true);
        throw error;
      });
    } catch (error) {
      if (error instanceof OperatorClientError && error.fault !== 'too-large') this.failed();
      throw error;
    }
  }

  failed(): void {
    this.failures += 1;
    if (this.failures >= maxFailures) this.closedUntilMs = this.clock.monotonicMs() + openMs;
  }

  succeeded(): void {
    this.failures = 0;
    this.closedUntilMs = -Infinity;
  }

  /** Replaces what an error of this node may tell of it: its host, and whatever of its URL may be a key. */
  redact(text: string): string {
    const secrets = secretsOf(this.options.settings.url);
    return secrets.reduce((redacted, secret) => redacted.replaceAll(secret, '***'), text);
  }
}

const shortestKey = 6;

function secretsOf(text: string): string[] {
  const url = new URL(text);
  const decoded = [url.username, url.password, ...url.pathname.split('/'), ...url.searchParams.values()];
  const keys = decoded.flatMap((part) => [part, decodePart(part)]).filter((part) => part.length >= shortestKey);
  // Longer ones first, so that none is replaced in part.
  const all = new Set([url.href, url.origin, url.host, url.hostname, ...keys]);
  return [...all].toSorted((left, right) => right.length - left.length);
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
