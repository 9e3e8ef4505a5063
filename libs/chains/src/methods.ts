import type { ChainFamily, MethodGroup, RpcNetwork } from './networks.js';

/** Factor of the credits of a call. */
export type MethodTier = 1 | 2 | 4;

export interface RpcMethod {
  tier: MethodTier;
  /** It changes the chain: never asked twice if its result is not known. */
  sends: boolean;
}

type Methods = ReadonlyMap<string, RpcMethod>;

const words = (text: string): string[] => text.trim().split(/\s+/);
const listed = (text: string, tier: MethodTier, sends = false): [string, RpcMethod][] =>
  words(text).map((name) => [name, { tier, sends }]);

const evmReads = `
  eth_blobBaseFee eth_blockNumber eth_call eth_chainId eth_createAccessList eth_estimateGas eth_feeHistory eth_gasPrice
  eth_getBalance eth_getBlockByHash eth_getBlockByNumber eth_getBlockReceipts eth_getBlockTransactionCountByHash
  eth_getBlockTransactionCountByNumber eth_getCode eth_getHeaderByHash eth_getHeaderByNumber eth_getLogs eth_getProof
  eth_getRawTransactionByBlockHashAndIndex eth_getRawTransactionByBlockNumberAndIndex eth_getRawTransactionByHash
  eth_getStorageAt eth_getTransactionByBlockHashAndIndex eth_getTransactionByBlockNumberAndIndex
  eth_getTransactionByHash eth_getTransactionCount eth_getTransactionReceipt eth_getUncleByBlockHashAndIndex
  eth_getUncleByBlockNumberAndIndex eth_getUncleCountByBlockHash eth_getUncleCountByBlockNumber
  eth_maxPriorityFeePerGas eth_protocolVersion eth_simulateV1 eth_syncing
  net_listening net_peerCount net_version web3_clientVersion web3_sha3
  eth_estimateUserOperationGas eth_getUserOperationByHash eth_getUserOperationReceipt eth_supportedEntryPoints`;

const evmSends = 'eth_sendRawTransaction eth_sendRawTransactionSync eth_sendUserOperation';

const evmAdvanced = `
  debug_getBadBlocks debug_getRawBlock debug_getRawHeader debug_getRawReceipts debug_getRawTransaction
  debug_storageRangeAt debug_traceBlock debug_traceBlockByHash debug_traceBlockByNumber debug_traceCall
  debug_traceCallMany debug_traceTransaction
  trace_block trace_call trace_callMany trace_filter trace_get trace_rawTransaction trace_transaction
  txpool_inspect txpool_status`;

const evmLarge = 'trace_replayBlockTransactions trace_replayTransaction txpool_content txpool_contentFrom';

const solanaReads = `
  getAccountInfo getBalance getBlock getBlockCommitment getBlockHeight getBlockProduction getBlockTime getBlocks
  getBlocksWithLimit getClusterNodes getEpochInfo getEpochSchedule getFeeForMessage getFirstAvailableBlock
  getGenesisHash getHealth getHighestSnapshotSlot getIdentity getInflationGovernor getInflationRate getInflationReward
  getLatestBlockhash getLeaderSchedule getMaxRetransmitSlot getMaxShredInsertSlot getMinimumBalanceForRentExemption
  getMultipleAccounts getProgramAccounts getRecentPerformanceSamples getRecentPrioritizationFees getSignatureStatuses
  getSignaturesForAddress getSlot getSlotLeader getSlotLeaders getStakeMinimumDelegation getTokenAccountBalance
  getTokenAccountsByDelegate getTokenAccountsByOwner getTokenLargestAccounts getTokenSupply getTransaction
  getTransactionCount getVersion getVoteAccounts isBlockhashValid minimumLedgerSlot simulateTransaction`;

const starknetReads = `
  starknet_blockHashAndNumber starknet_blockNumber starknet_call starknet_chainId starknet_estimateFee
  starknet_estimateMessageFee starknet_getBlockTransactionCount starknet_getBlockWithReceipts
  starknet_getBlockWithTxHashes starknet_getBlockWithTxs starknet_getClass starknet_getClassAt starknet_getClassHashAt
  starknet_getCompiledCasm starknet_getEvents starknet_getMessagesStatus starknet_getNonce starknet_getStateUpdate
  starknet_getStorageAt starknet_getStorageProof starknet_getTransactionByBlockIdAndIndex starknet_getTransactionByHash
  starknet_getTransactionReceipt starknet_getTransactionStatus starknet_simulateTransactions starknet_specVersion
  starknet_syncing starknet_traceBlockTransactions starknet_traceTransaction`;

const starknetSends =
  'starknet_addDeclareTransaction starknet_addDeployAccountTransaction starknet_addInvokeTransaction';

/** Every method of a family. Methods that hold keys, that change a node, or that keep state in one, are in no list. */
const families: Record<ChainFamily, Methods> = {
  evm: new Map([
    ...listed(evmReads, 1),
    ...listed(evmSends, 1, true),
    ...listed(evmAdvanced, 2),
    ...listed(evmLarge, 4),
  ]),
  solana: new Map([
    ...listed(solanaReads, 1),
    ...listed('sendTransaction requestAirdrop', 1, true),
    ...listed('getLargestAccounts getSupply', 4),
  ]),
  starknet: new Map([...listed(starknetReads, 1), ...listed(starknetSends, 1, true)]),
};

const groups: Record<MethodGroup, Methods> = {
  arbtrace: new Map([
    ...listed('arbtrace_block arbtrace_call arbtrace_callMany arbtrace_filter arbtrace_get arbtrace_transaction', 2),
    ...listed('arbtrace_replayBlockTransactions arbtrace_replayTransaction', 4),
  ]),
  bor: new Map(
    listed(
      `bor_getAuthor bor_getCurrentProposer bor_getCurrentValidators bor_getRootHash bor_getSignersAtHash
       bor_getSnapshot bor_getSnapshotProposerSequence`,
      1,
    ),
  ),
  linea: new Map(listed('linea_estimateGas linea_getProof linea_getTransactionExclusionStatusV1', 1)),
  zks: new Map([
    ...listed(
      `zks_L1BatchNumber zks_L1ChainId zks_estimateFee zks_estimateGasL1ToL2 zks_getAllAccountBalances
       zks_getBaseTokenL1Address zks_getBatchFeeInput zks_getBlockDetails zks_getBridgeContracts zks_getBridgehubContract
       zks_getBytecodeByHash zks_getConfirmedTokens zks_getFeeParams zks_getL1BatchBlockRange zks_getL1BatchDetails
       zks_getL1GasPrice zks_getL2ToL1LogProof zks_getL2ToL1MsgProof zks_getMainContract zks_getProof
       zks_getProtocolVersion zks_getRawBlockTransactions zks_getTestnetPaymaster zks_getTransactionDetails`,
      1,
    ),
    ...listed('zks_sendRawTransactionWithDetailedOutput', 1, true),
  ]),
};

/** Whether a network takes a method. */
export function findMethod(network: Pick<RpcNetwork, 'family' | 'groups'>, name: string): RpcMethod | null {
  const ofNetwork = network.groups.map((group) => groups[group]);
  return [families[network.family], ...ofNetwork].map((methods) => methods.get(name)).find(Boolean) ?? null;
}

const stateful = new Set(
  words(`eth_newFilter eth_newBlockFilter eth_newPendingTransactionFilter eth_getFilterChanges eth_getFilterLogs
    eth_uninstallFilter`),
);
const keyHolding = /^(eth_(accounts|coinbase|requestAccounts|sendTransaction|sign.*)|personal_.*|wallet_.*)$/;
const mining = new Set(words('eth_mining eth_hashrate eth_getWork eth_submitWork eth_submitHashrate'));

/** Says why a network does not take a method, worded to follow its name. */
export function explainRefusal(name: string): string {
  if (/(un)?subscribe/i.test(name)) return 'needs a WebSocket, which is not supported';
  if (stateful.has(name)) return 'needs a filter that a node keeps, which is not supported; use eth_getLogs';
  if (keyHolding.test(name)) return 'needs a key that a node holds; sign in your wallet';
  if (mining.has(name)) return 'is for miners';
  const isElsewhere = [...Object.values(families), ...Object.values(groups)].some((methods) => methods.has(name));
  return isElsewhere ? 'belongs to other networks' : 'is not supported';
}

/** Credits of a call that ends in an error. */
export const errorCredits = 5;

/** Credits of a call that succeeds. */
export function creditsOf({ baseCredits }: Pick<RpcNetwork, 'baseCredits'>, { tier }: RpcMethod): number {
  return baseCredits * tier;
}
