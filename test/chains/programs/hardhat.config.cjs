// Settings of the local node; `evm-node.mjs` sets the variables. No compiler is configured: `compile.mjs` compiles.
const { chainId, automine, startedAt } = JSON.parse(process.env.SLUICE_TEST_EVM_NODE ?? '{}');

module.exports = {
  solidity: '0.8.24',
  networks: {
    hardhat: {
      chainId: chainId ?? 8453,
      mining: { auto: automine ?? true, interval: 0, mempool: { order: 'priority' } },
      accounts: { count: 20, accountsBalance: '10000000000000000000000' },
      initialDate: startedAt,
      allowBlocksWithSameTimestamp: true,
      loggingEnabled: false,
    },
  },
};
