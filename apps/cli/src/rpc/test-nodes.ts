import type { RpcNetwork } from '#chains';
import { PlatformError } from '#common';
import type { OperatorClient } from '#egress';
import type { RpcUpstreamSettings } from '#platform/config';
import type { CliContext } from '../cli-context.js';

/** What one node answered. */
interface Trial {
  /** Network, position and host. */
  node: string;
  archive: boolean;
  /** Null where it does not work. */
  height: string | null;
  ms: number;
  /** What to fix; null where it works. */
  problem: string | null;
}

/** `sluice rpc test`. Fails if a node cannot be used. */
export async function testNodes(
  context: CliContext,
  network: string | undefined,
  { json }: { json?: boolean },
): Promise<void> {
  const { findNetwork } = await import('#chains');
  if (network !== undefined && findNetwork(network) === null) {
    throw new PlatformError('INVALID_REQUEST', `There is no network ${network}; see \`sluice rpc list\`.`, 'network');
  }
  const { upstreams } = context.config.rpc;
  const chosen = upstreams.filter((upstream) => upstream.network === (network ?? upstream.network));
  if (chosen.length === 0) refuseWithoutNodes(network);
  const { OperatorClient: Client } = await import('#egress');
  const client = new Client();
  try {
    const trials = await Promise.all(
      chosen.map(async (settings) => {
        const of = upstreams.filter((other) => other.network === settings.network);
        const known = findNetwork(settings.network) as RpcNetwork;
        return await testNode(context, { settings, network: known, position: of.indexOf(settings) + 1, client });
      }),
    );
    print(context, trials, json);
    const broken = trials.filter(({ problem }) => problem !== null).length;
    if (broken > 0)
      throw new PlatformError('SERVICE_UNAVAILABLE', `${broken} of ${trials.length} nodes cannot be used.`);
  } finally {
    await client.close();
  }
}

interface Tested {
  settings: RpcUpstreamSettings;
  network: RpcNetwork;
  position: number;
  client: OperatorClient;
}

async function testNode({ config, signal }: CliContext, tested: Tested): Promise<Trial> {
  const { Upstream } = await import('#chains');
  const { network, settings } = tested;
  const upstream = new Upstream({ ...tested, timeoutMs: config.rpc.timeoutMs });
  const startMs = performance.now();
  const trial = (height: string | null, problem: string | null): Trial => ({
    node: upstream.label,
    archive: settings.isArchive,
    height,
    ms: Math.round(performance.now() - startMs),
    problem,
  });
  try {
    const { chainId, height } = await upstream.check(signal);
    const isRight = chainId === network.chainId;
    return trial(String(height), isRight ? null : `it answers for chain ${chainId}, not ${network.chainId}`);
  } catch (error) {
    signal.throwIfAborted();
    return trial(null, error instanceof Error ? error.message : String(error));
  }
}

function print({ output }: CliContext, trials: Trial[], json = false): void {
  if (json) return output.json(trials);
  for (const { node, archive, height, ms, problem } of trials) {
    const found = problem === null ? `block ${height}, ${ms} ms${archive ? ', archive' : ''}` : `failed: ${problem}`;
    output.line(`${node}: ${found}`);
  }
}

/** Throws `INVALID_REQUEST`. */
function refuseWithoutNodes(network = 'ethereum-mainnet'): never {
  const example = `${network}=https://node.example.org/key`;
  const message = `There is no node: set SLUICE_RPC_UPSTREAMS, such as ${example} (docs/guides/crypto-rpc.md).`;
  throw new PlatformError('INVALID_REQUEST', message);
}
