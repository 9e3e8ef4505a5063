// viem against an EVM node. SLUICE_TEST_CLIENT: `{ url, headers, key, payee, token }`; prints what it got.
import { createPublicClient, createWalletClient, defineChain, http, parseAbi, parseEther } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { printResults, readSettings } from './settings.mjs';

const { url, headers, key, payee, token, chainId } = readSettings();
const currency = { name: 'Ether', symbol: 'ETH', decimals: 18 };
const chain = defineChain({
  id: chainId,
  name: 'local',
  nativeCurrency: currency,
  rpcUrls: { default: { http: [url] } },
});
const transport = http(url, { fetchOptions: { headers }, batch: { wait: 20 }, retryCount: 0 });
const client = createPublicClient({ chain, transport, pollingInterval: 100 });
const account = privateKeyToAccount(key);
const wallet = createWalletClient({ account, chain, transport });
const abi = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'function transfer(address to, uint256 value) returns (bool)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
]);

async function refusalOf(run) {
  try {
    await run();
    return null;
  } catch (error) {
    const cause = error.walk?.((inner) => typeof inner.code === 'number');
    return { name: error.name, code: cause?.code, details: error.details?.replaceAll(/\d{12,}/g, 'N') };
  }
}

const hash = await wallet.sendTransaction({ to: payee, value: parseEther('1') });
const receipt = await client.waitForTransactionReceipt({ hash });
// One batch, because they are asked in one tick: each gets its own answer.
const batch = await Promise.all([
  client.getBalance({ address: payee }),
  client.readContract({ address: token, abi, functionName: 'balanceOf', args: [account.address] }),
  client.getChainId(),
  client.getCode({ address: payee }),
  client.getTransactionCount({ address: account.address }),
]);
const transfer = { account, address: token, abi, functionName: 'transfer' };
const moved = await wallet.writeContract({ ...transfer, args: [payee, 5n] });
await client.waitForTransactionReceipt({ hash: moved });
const fromBlock = receipt.blockNumber;
const [log] = await client.getContractEvents({ address: token, abi, eventName: 'Transfer', fromBlock });
printResults({
  status: receipt.status,
  isLater: (await client.getBlockNumber({ cacheTime: 0 })) >= fromBlock,
  batch,
  event: log.args,
  reverted: await refusalOf(() => client.simulateContract({ ...transfer, args: [payee, 2n ** 200n] })),
  poor: await refusalOf(() => wallet.sendTransaction({ to: payee, value: parseEther('999999'), gas: 21_000n })),
  unknown: await refusalOf(() => client.request({ method: 'eth_getTransactionByHash', params: ['0x12'] })),
});
