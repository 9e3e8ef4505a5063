import { PlatformError } from '#common';
import { OperatorClient, type ResponseRest } from '#egress';
import type { RpcSettings } from '#platform/config';
import type { Logger } from '#platform/logging';
import type { Metrics } from '#platform/metrics';
import { passAnswer } from './json/answer-stream.js';
import { composeAnswers } from './json/read-answers.js';
import type { RpcRequest } from './json/read-calls.js';
import { creditsOf, errorCredits } from './methods.js';
import { findNetwork, type RpcNetwork, rpcNetworks } from './networks.js';
import { NetworkUpstreams } from './upstreams/network-upstreams.js';
import { nodeMetrics } from './upstreams/node-metrics.js';
import { Upstream } from './upstreams/upstream.js';

export interface RpcResult {
  /** The body for the caller; empty where it is in `rest`. */
  bytes: Buffer;
  /** The body, while the node sends it; null: it is in `bytes`. */
  rest: ResponseRest | null;
  /** Of the whole answer; one that is cut costs nothing. */
  credits: number;
}

export interface RpcProxyOptions {
  settings: RpcSettings;
  logger: Pick<Logger, 'warn' | 'error'>;
  /** Default: nothing is counted. */
  metrics?: Metrics;
  client?: Pick<OperatorClient, 'post' | 'open' | 'close'>;
}

/** Passes calls to the operator's nodes, and their answers back as bytes. Nothing is cached, split or rewritten. */
export class RpcProxy {
  private readonly client: Pick<OperatorClient, 'post' | 'open' | 'close'>;
  private readonly networks = new Map<string, NetworkUpstreams>();
  private readonly closing = new AbortController();
  private readonly told = new Set<string>();

  constructor(private readonly options: RpcProxyOptions) {
    this.client = options.client ?? new OperatorClient();
    const { settings, logger, metrics } = options;
    const observer = metrics === undefined ? null : nodeMetrics(metrics);
    for (const network of rpcNetworks) {
      const ofNetwork = settings.upstreams.filter(({ network: name }) => name === network.name);
      const upstreams = ofNetwork.map((upstream, index) => this.upstreamOf(network, upstream, index + 1));
      if (upstreams.length > 0)
        this.networks.set(
          network.name,
          new NetworkUpstreams({ network, upstreams, logger, observer, hedgeMs: settings.hedgeMs }),
        );
    }
  }

  /** Throws `INVALID_REQUEST` for an unknown network. */
  resolve(name: string): RpcNetwork {
    const network = findNetwork(name);
    if (network !== null) return network;
    throw new PlatformError('INVALID_REQUEST', 'Unsupported RPC network', 'network', {
      issues: [{ code: 'invalid_enum', path: ['network'], message: 'GET /crypto/rpc/networks lists the networks' }],
    });
  }

  /**
   * Throws `SERVICE_UNAVAILABLE` if the operator has no node of the network. What to set is the operator's business: it
   * is in the log, not in the message.
   */
  requireUpstream({ name }: RpcNetwork): void {
    if (this.networks.has(name)) return;
    if (!this.told.has(name)) {
      this.told.add(name);
      const hint = `set ${name}=URL in SLUICE_RPC_UPSTREAMS`;
      this.options.logger.warn({ network: name, hint }, 'a network was called that has no RPC node');
    }
    throw new PlatformError('SERVICE_UNAVAILABLE', `${name} is not available here.`, null, { retry: 'never' });
  }

  /**
   * `streams`: a long answer to a single read may be passed on while it arrives. Rejects as `requireUpstream` and
   * `NetworkUpstreams.ask` do.
   */
  async call(
    network: RpcNetwork,
    request: RpcRequest,
    { signal, streams = false }: { signal: AbortSignal; streams?: boolean },
  ): Promise<RpcResult> {
    this.requireUpstream(network);
    const nodes = this.networks.get(network.name) as NetworkUpstreams;
    const { upstream, answers, stream } = await nodes.ask(request, { signal, streams });
    const [call] = request.calls;
    if (stream !== null && call !== undefined) {
      const parts = passAnswer(stream.start, stream.rest.parts, call.id);
      const rest = { parts, cancel: () => stream.rest.cancel() };
      return { bytes: noBytes, rest, credits: creditsOf(network, call.method) };
    }
    const { bytes, failed } = composeAnswers(request, answers, (text) => upstream.redact(text));
    const credits = request.calls.reduce(
      (sum, { method }, index) => sum + (failed[index] === true ? errorCredits : creditsOf(network, method)),
      0,
    );
    return { bytes, rest: null, credits };
  }

  /** Tells the operator, in the log, of nodes of another chain and of those that do not answer. Never rejects. */
  async checkAll(): Promise<void> {
    await Promise.all([...this.networks.values()].map((nodes) => nodes.checkAll(this.closing.signal)));
  }

  async close(): Promise<void> {
    this.closing.abort(new PlatformError('SERVICE_UNAVAILABLE', 'The service is restarting.'));
    await this.client.close();
  }

  private upstreamOf(network: RpcNetwork, settings: RpcSettings['upstreams'][number], position: number): Upstream {
    return new Upstream({
      network,
      settings,
      position,
      client: this.client,
      timeoutMs: this.options.settings.timeoutMs,
    });
  }
}

const noBytes = Buffer.alloc(0);

/** The most credits that a request may cost. */
export function maxCreditsOf(network: RpcNetwork, { calls }: RpcRequest): number {
  return calls.reduce((sum, { method }) => sum + Math.max(creditsOf(network, method), errorCredits), 0);
}
