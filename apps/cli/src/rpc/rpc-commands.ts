import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';
import { testNodes } from './test-nodes.js';

interface RpcOptions {
  json?: boolean;
}

const jsonFlag = ['--json', 'print one JSON document to stdout'] as const;

/** `sluice rpc …` */
export function addRpcCommands(program: Command, context: CliContext): void {
  const rpc = program.command('rpc').description('nodes of blockchains').helpCommand(false);
  rpc
    .command('list')
    .description('list the networks, and which of them have nodes')
    .option(...jsonFlag)
    .action((options: RpcOptions) => listNetworks(context, options));
  rpc
    .command('test')
    .description('ask every configured node for its chain and its last block')
    .argument('[network]', 'only the nodes of this network')
    .option(...jsonFlag)
    .action((network: string | undefined, options: RpcOptions) => testNodes(context, network, options));
}

/** Names no URL: it may hold a key. */
async function listNetworks(context: CliContext, { json }: RpcOptions): Promise<void> {
  const { rpcNetworks } = await import('#chains');
  const { config, output } = context;
  const { upstreams } = config.rpc;
  const rows = rpcNetworks.map(({ name: network }) => {
    const ofNetwork = upstreams.filter((upstream) => upstream.network === network);
    return { network, nodes: ofNetwork.length, archive: ofNetwork.filter(({ isArchive }) => isArchive).length };
  });
  if (json) return output.json(rows);
  output.table(
    ['NETWORK', 'NODES', 'ARCHIVE'],
    rows.map(({ network, nodes, archive }) => [network, String(nodes), String(archive)]),
  );
  const missing = rows.find(({ nodes }) => nodes === 0);
  if (missing !== undefined) {
    context.next(
      `set SLUICE_RPC_UPSTREAMS="${missing.network}=https://…" for each network without a node (docs/guides/crypto-rpc.md)`,
    );
  }
}
