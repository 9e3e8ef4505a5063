import { PlatformError } from '#common';
import { OperatorClientError, type OperatorResponse, type OperatorStream, type ResponseRest } from '#egress';
import type { Logger } from '#platform/logging';
import { type AnswerStart, readStart } from '../json/answer-stream.js';
import { errorTexts, readAnswers, type RpcAnswers } from '../json/read-answers.js';
import { JsonFault } from '../json/json-cursor.js';
import type { RpcRequest } from '../json/read-calls.js';
import type { RpcNetwork } from '../networks.js';
import { isLagging } from './block-lag.js';
import { hedge, type RacingAttempt } from './hedge.js';
import type { NodeObserver } from './node-metrics.js';
import type { Upstream } from './upstream.js';

export interface NetworkUpstreamsOptions {
  network: RpcNetwork;
  /** In the order in which they are asked. */
  upstreams: readonly Upstream[];
  logger: Pick<Logger, 'warn' | 'error'>;
  /** Null: nothing is counted. */
  observer: NodeObserver | null;
  /** A read that takes longer is asked of the next node, too, in ms; 0: never. */
  hedgeMs: number;
}

/** The answers of one node. */
export interface NodeAnswers {
  upstream: Upstream;
  answers: RpcAnswers;
  /** A successful answer that still arrives; then there are no `answers`. */
  stream: { start: AnswerStart; rest: ResponseRest } | null;
}

/** How a request is asked. */
export interface AskOptions {
  signal: AbortSignal;
  /** A long answer may be passed on while it arrives. */
  streams?: boolean;
}

/** How an exchange with one node ended. */
interface Attempt extends NodeAnswers {
  /** No other node is asked. */
  isFinal: boolean;
}

/** Nodes asked for one request at most: their timeouts together are shorter than the deadline of the job. */
const maxAttempts = 3;

/** Answers that are longer than this are passed on while they arrive, in bytes. */
const headBytes = 64 * 1024;

/** Texts of errors of nodes that do not have the state of old blocks. */
const prunedState = /missing trie node|state (?:is not available|already discarded)|historical state/i;

/**
 * The nodes of one network. A request goes to one of them, whole. A read that fails is asked of the next one; a request
 * that changes the chain is not, unless the failed node cannot have seen it.
 */
export class NetworkUpstreams {
  private readonly told = new Map<Upstream, string>();

  constructor(private readonly options: NetworkUpstreamsOptions) {}

  get network(): RpcNetwork {
    return this.options.network;
  }

  /** Rejects with `SERVICE_UNAVAILABLE`, with `INVALID_REQUEST` for an answer that is too large, or with the signal's reason. */
  async ask(request: RpcRequest, options: AskOptions): Promise<NodeAnswers> {
    const { signal } = options;
    const candidates = (await this.candidates(signal)).slice(0, maxAttempts);
    let refused: NodeAnswers | null = null;
    while (candidates.length > 0) {
      const attempt = await this.attemptNext(candidates, request, options);
      if (attempt === null) continue;
      if (attempt.isFinal) return await this.askArchive(attempt, request, options);
      refused ??= attempt;
    }
    // What a node says of a request is worth more than that none answered.
    if (refused !== null) return refused;
    throw unavailable();
  }

  /** Finds out the chain of every node, and tells the operator of those that are of no use. Never rejects. */
  async checkAll(signal: AbortSignal): Promise<void> {
    await Promise.all(this.options.upstreams.map((upstream) => this.check(upstream, signal).catch(() => undefined)));
  }

  /**
   * Returns nodes of the right chain, in their order: those that failed lately or lag behind come last. The first request
   * waits for the first node that tells its chain.
   */
  private async candidates(signal: AbortSignal): Promise<Upstream[]> {
    const { upstreams } = this.options;
    const isAlone = upstreams.length === 1;
    // The height of a single node is compared with nothing.
    const isSettled = (upstream: Upstream): boolean => isAlone && upstream.isKnown && upstream.problem === null;
    const isDue = (upstream: Upstream): boolean => upstream.isStale && upstream.problem !== 'failing';
    const due = upstreams.filter((upstream) => isDue(upstream) && !isSettled(upstream));
    const checks = new Map(due.map((upstream) => [upstream, this.check(upstream, signal)]));
    for (const check of checks.values()) check.catch(() => undefined);
    for (const upstream of upstreams) {
      if (!upstream.isKnown && upstream.problem === null) await checks.get(upstream)?.catch(() => undefined);
      signal.throwIfAborted();
      if (upstream.isKnown && upstream.problem === null) break;
    }
    const usable = upstreams.filter((upstream) => upstream.isKnown && upstream.problem !== 'wrong-chain');
    const heights = usable.map(({ height }) => height).filter((height) => height !== null);
    const best = heights.reduce((most, height) => (height > most ? height : most), 0n);
    const rank = (upstream: Upstream): number =>
      (upstream.problem === null ? 0 : 2) + Number(isLagging(this.network, upstream.height, best));
    return usable.toSorted((left, right) => rank(left) - rank(right));
  }

  private async check(upstream: Upstream, signal: AbortSignal): Promise<void> {
    try {
      const { chainId } = await upstream.check(signal);
      if (chainId === this.network.chainId) this.told.delete(upstream);
      else
        this.tell(
          upstream,
          'error',
          `it answers for chain ${chainId}, not ${this.network.chainId}: check SLUICE_RPC_UPSTREAMS`,
        );
    } catch (error) {
      signal.throwIfAborted();
      this.tell(upstream, 'warn', error instanceof Error ? error.message : 'it failed');
      throw error;
    }
  }

  /** Asks the first of the candidates and, if it is slow, the second at the same time; removes those it asks. */
  private async attemptNext(candidates: Upstream[], request: RpcRequest, options: AskOptions): Promise<Attempt | null> {
    const first = candidates.shift() as Upstream;
    const { hedgeMs } = this.options;
    // What changes the chain is never asked of two nodes.
    if (hedgeMs === 0 || request.sends || candidates.length === 0) return await this.attempt(first, request, options);
    const start = (upstream: Upstream): RacingAttempt<Attempt> => {
      const ending = new AbortController();
      const signal = AbortSignal.any([options.signal, ending.signal]);
      return { ending, attempt: this.attempt(upstream, request, { ...options, signal }) };
    };
    const isFinal = (attempt: Attempt): boolean => attempt.isFinal;
    const drop = (attempt: Attempt): void => attempt.stream?.rest.cancel();
    return await hedge([first, candidates], { start, isFinal, drop, hedgeMs });
  }

  /** Returns null if another node may be asked. */
  private async attempt(upstream: Upstream, request: RpcRequest, options: AskOptions): Promise<Attempt | null> {
    const { signal } = options;
    const startedAtMs = performance.now();
    let exchanged: Attempt | null = null;
    try {
      exchanged = await this.exchange(upstream, request, options);
      return exchanged;
    } finally {
      const result = exchanged?.isFinal === true ? 'answered' : 'failed';
      const node = { network: this.network.name, position: upstream.position };
      // The caller's end says nothing about the node.
      if (!signal.aborted) this.options.observer?.asked(node, result, (performance.now() - startedAtMs) / 1_000);
    }
  }

  private async exchange(upstream: Upstream, request: RpcRequest, options: AskOptions): Promise<Attempt | null> {
    const { sends } = request;
    const { signal } = options;
    try {
      const response = await this.receive(upstream, request, options);
      if ('start' in response) {
        this.succeeded(upstream);
        return { upstream, answers: noAnswers, stream: response, isFinal: true };
      }
      const { status } = response;
      const answers = status === 401 || status === 403 ? null : answersIn(response.bytes);
      const isRefused = status === 401 || status === 403 || status === 429;
      if (answers === null || isRefused || status >= 500) this.failed(upstream, `status ${status}`);
      else this.succeeded(upstream);
      // A node that answers a send with an error of its own may have passed it on.
      const isFinal = !isRefused && (status < 500 || sends);
      if (answers !== null) return { upstream, answers, stream: null, isFinal };
      if (sends && !isRefused) throw unknownResult();
      return null;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof OperatorClientError)) throw error;
      if (error.fault === 'too-large') throw sends ? unknownResult() : tooLarge();
      this.tell(upstream, 'warn', error.message);
      if (sends && error.fault !== 'not-sent') throw unknownResult(error);
      return null;
    }
  }

  /** The answer, or the beginning of one that is long and succeeds. */
  private async receive(
    upstream: Upstream,
    { bytes, sends, isBatch, calls: [call] }: RpcRequest,
    { signal, streams = false }: AskOptions,
  ): Promise<OperatorResponse | { start: AnswerStart; rest: ResponseRest }> {
    const options = { signal, isFresh: sends };
    if (!streams || sends || isBatch || call === undefined) return await upstream.ask(bytes, options);
    const opened = await upstream.open(bytes, headBytes, options);
    const { status, head, rest } = opened;
    if (rest === null) return { status, bytes: head };
    const start = status === 200 ? readStart(head, call) : null;
    if (start === null) return await collect(opened);
    return { start, rest: { ...rest, parts: this.watch(upstream, rest.parts) } };
  }

  /** An answer that is cut is a failure of its node. */
  private async *watch(upstream: Upstream, parts: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    try {
      yield* parts;
    } catch (error) {
      if (error instanceof OperatorClientError) this.failed(upstream, error.message);
      throw error;
    }
  }

  /** Asks a node with old states for what another one no longer has, once. */
  private async askArchive(first: NodeAnswers, request: RpcRequest, options: AskOptions): Promise<NodeAnswers> {
    const { signal } = options;
    if (request.sends || !errorTexts(first.answers).some((text) => prunedState.test(text))) return first;
    const isOther = (upstream: Upstream): boolean =>
      upstream !== first.upstream && upstream.isArchive && upstream.isKnown && upstream.problem === null;
    const archive = this.options.upstreams.find(isOther);
    const second = archive === undefined ? null : await this.attempt(archive, request, options).catch(() => null);
    signal.throwIfAborted();
    return second?.isFinal === true ? second : first;
  }

  private succeeded(upstream: Upstream): void {
    upstream.succeeded();
    this.told.delete(upstream);
  }

  private failed(upstream: Upstream, reason: string): void {
    upstream.failed();
    this.tell(upstream, 'warn', reason);
  }

  /** Logs a problem of a node, once until it is another. */
  private tell(upstream: Upstream, level: 'warn' | 'error', reason: string): void {
    if (this.told.get(upstream) === reason) return;
    this.told.set(upstream, reason);
    this.options.logger[level]({ upstream: upstream.label, reason }, 'an RPC node cannot be used');
  }
}

const noAnswers: RpcAnswers = { bytes: Buffer.alloc(0), isBatch: false, answers: [] };

/** Collects a response that cannot be passed on while it arrives. */
async function collect({ status, head, rest }: OperatorStream): Promise<OperatorResponse> {
  const parts = [head];
  try {
    if (rest !== null) for await (const part of rest.parts) parts.push(part);
  } finally {
    rest?.cancel();
  }
  return { status, bytes: Buffer.concat(parts) };
}

function answersIn(bytes: Buffer): RpcAnswers | null {
  try {
    return readAnswers(bytes);
  } catch (error) {
    if (error instanceof JsonFault) return null;
    throw error;
  }
}

function unavailable(): PlatformError {
  return new PlatformError('SERVICE_UNAVAILABLE', 'No node of this network answers at the moment.');
}

function unknownResult(cause?: unknown): PlatformError {
  const message =
    'The node did not say what became of this transaction: it may have been sent. Look for it on the chain before you send it again.';
  return new PlatformError('SERVICE_UNAVAILABLE', message, null, { retry: 'never', cause });
}

function tooLarge(): PlatformError {
  return new PlatformError('INVALID_REQUEST', 'The answer is larger than 16 MB: ask for less at once.');
}
