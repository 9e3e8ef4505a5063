// ethers against an EVM node. SLUICE_TEST_CLIENT: `{ url, headers, key, payee, token }`; prints what it got.
import { Contract, FetchRequest, JsonRpcProvider, parseEther, Wallet } from 'ethers';
import { printResults, readSettings } from './settings.mjs';

const { url, headers, key, payee, token, chainId } = readSettings();
const request = new FetchRequest(url);
for (const [name, value] of Object.entries(headers)) request.setHeader(name, value);
const provider = new JsonRpcProvider(request, chainId, {
  staticNetwork: true,
  batchStallTime: 20,
  cacheTimeout: -1,
  pollingInterval: 100,
});
const wallet = new Wallet(key, provider);
const contract = new Contract(
  token,
  [
    'function balanceOf(address) view returns (uint256)',
    'function transfer(address to, uint256 value) returns (bool)',
    'event Transfer(address indexed from, address indexed to, uint256 value)',
  ],
  wallet,
);

async function refusalOf(run) {
  try {
    await run();
    return null;
  } catch (error) {
    const { code, message } = error.info?.error ?? error.error ?? {};
    return { name: error.code, code, message: (message ?? error.reason)?.replaceAll(/\d{12,}/g, 'N') };
  }
}

const sent = await wallet.sendTransaction({ to: payee, value: parseEther('1') });
const receipt = await sent.wait();
// One batch, because they are asked in one tick: each gets its own answer.
const batch = await Promise.all([
  provider.getBalance(payee),
  contract.balanceOf(wallet.address),
  provider.send('eth_chainId', []),
  provider.getCode(payee),
  provider.getTransactionCount(wallet.address),
]);
const moved = await (await contract.transfer(payee, 5n)).wait();
const [event] = await contract.queryFilter('Transfer', moved.blockNumber);
printResults({
  status: receipt.status,
  isLater: (await provider.getBlockNumber()) >= receipt.blockNumber,
  batch,
  event: [...event.args],
  reverted: await refusalOf(() => contract.transfer.staticCall(payee, 2n ** 200n)),
  poor: await refusalOf(() => wallet.sendTransaction({ to: payee, value: parseEther('999999'), gasLimit: 21_000n })),
  unknown: await refusalOf(() => provider.send('eth_getTransactionByHash', ['0x12'])),
});
provider.destroy();
