import { createPublicClient, http } from 'viem';
import { base } from 'viem/chains';
import { payOnEvm, payOnSolana, type PaymentOffer, solanaWalletOf } from '#test/chain-payments';
import { runCommandLine } from '#test/command-line';
import { createEvmPayer, createSolanaPayer, type PaymentChains, startPaymentChains } from '#test/payment-chains';
import { type Platform, startPlatform } from '#test/platform';
import { evmWallet, signInHeader, type TestWallet } from '#test/wallet-sign-ins';

/*
 * `npm run demo`: two wallets pay, chat, and call a node, on chains and a platform of this machine. Exits with 1 at
 * the first step that does not do what it says.
 */

const fiveDollars = 5_000_000n;
const model = 'tiny-llama';
/** USD per million tokens: so much that $5 are spent within a few chats. */
const price = { usd: 50_000, diem: 50_000 };

const say = (text: string): void => void process.stdout.write(`${text}\n`);

function check(isTrue: boolean, what: string, found: unknown): void {
  if (!isTrue) throw new Error(`${what}: ${JSON.stringify(found)}`);
}

interface Demo {
  platform: Platform;
  chains: PaymentChains;
}

interface Answer {
  status: number;
  headers: Headers;
  body: Record<string, never> & { accepts?: PaymentOffer[] };
}

async function ask(
  { platform }: Demo,
  path: string,
  { headers = {}, body, method = 'GET' }: { headers?: Record<string, string>; body?: object; method?: string } = {},
): Promise<Answer> {
  const response = await fetch(`${platform.baseUrl}${path}`, {
    method,
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Answer['body'] };
}

/** Asks what a top-up costs, signs an offer of the network and sends it. */
async function topUp(demo: Demo, network: string, pay: (offer: PaymentOffer) => Promise<string>): Promise<void> {
  const offered = await ask(demo, '/x402/top-up', { method: 'POST' });
  const offer = offered.body.accepts?.find((each) => each.network.startsWith(network));
  if (offered.status !== 402 || !offer) throw new Error(`no offer of ${network}: ${JSON.stringify(offered.body)}`);
  say(`  402: ${offer.amount} units of ${offer.asset} to ${offer.payTo}`);
  const paid = await ask(demo, '/x402/top-up', { method: 'POST', headers: { 'PAYMENT-SIGNATURE': await pay(offer) } });
  check(paid.status === 200, 'the payment was not credited', paid.body);
  say(`  200: ${JSON.stringify(paid.body)}`);
}

async function signedIn({ platform }: Demo, wallet: TestWallet): Promise<Record<string, string>> {
  return { 'SIGN-IN-WITH-X': await signInHeader(wallet, { origin: platform.origin }) };
}

async function chat(demo: Demo, wallet: TestWallet): Promise<Answer> {
  const body = { model, messages: [{ role: 'user', content: 'Hello' }], max_completion_tokens: 24 };
  return await ask(demo, '/chat/completions', { method: 'POST', headers: await signedIn(demo, wallet), body });
}

/** Chats until the balance refuses; says how often. */
async function chatUntilRefused(demo: Demo, wallet: TestWallet): Promise<void> {
  for (let chats = 0; chats < 50; chats += 1) {
    const { status, headers, body } = await chat(demo, wallet);
    if (status === 402) {
      check(chats > 0, 'the balance refused the first chat', body);
      return say(`  402 after ${chats} chats: ${String(body.message ?? body.error ?? body.code)}`);
    }
    check(status === 200, 'a chat failed', body);
    say(`  200: a chat; balance before it $${headers.get('x-balance-remaining')}`);
    await demo.platform.closedJobs();
  }
  throw new Error('50 chats did not use up the balance');
}

async function readTransactions(demo: Demo, wallet: TestWallet): Promise<void> {
  const path = `/x402/transactions/${wallet.address}`;
  const { status, body } = await ask(demo, path, { headers: await signedIn(demo, wallet) });
  const { data } = body as unknown as {
    data: { transactions: { type: string; amount: number; balanceAfter: number }[] };
  };
  check(status === 200 && data.transactions.some(({ type }) => type === 'TOP_UP'), 'no top-up is listed', body);
  for (const { type, amount, balanceAfter } of data.transactions.slice(0, 4)) {
    say(`  ${type.padEnd(7)} ${amount} USD, then ${balanceAfter} USD`);
  }
}

/** The height of the chain, by viem through the proxy and by the node itself. */
async function callNode(demo: Demo, wallet: TestWallet): Promise<void> {
  const { platform, chains } = demo;
  const headers = await signedIn(demo, wallet);
  const url = `${platform.baseUrl}/crypto/rpc/base-mainnet`;
  const client = createPublicClient({ chain: base, transport: http(url, { fetchOptions: { headers } }) });
  const height = await client.getBlockNumber();
  check(BigInt(await chains.node.request<string>('eth_blockNumber')) === height, 'the heights differ', String(height));
  say(`  eth_blockNumber: ${height}, as the node itself says`);
}

async function verifyLedger({ platform }: Demo): Promise<void> {
  await platform.closedJobs();
  const text = await runCommandLine(['ledger', 'verify'], {
    DATABASE_URL: platform.databaseUrl,
    SLUICE_HOME: platform.home,
  });
  say(text.replaceAll(/^(?=.)/gm, '  ').trimEnd());
}

async function run(demo: Demo): Promise<void> {
  const { chains } = demo;
  const evmPayer = await createEvmPayer(chains, fiveDollars);
  const solanaPayer = await createSolanaPayer(chains, fiveDollars);
  const [evm, solana] = [evmWallet(evmPayer.privateKey), solanaWalletOf(solanaPayer)];
  say(`3. Without credentials, a chat is refused, and the answer says how to pay`);
  const refused = await ask(demo, '/chat/completions', { method: 'POST', body: { model, messages: [] } });
  check(refused.status === 402, 'a chat without credentials', refused.body);
  say(`  402: ${Object.keys(refused.body).join(', ')}`);
  say(`4. ${evm.address} pays $5 on Base`);
  await topUp(demo, 'eip155:', (offer) => payOnEvm(chains, evmPayer, offer, fiveDollars));
  say(`5. ${solana.address} pays $5 on Solana`);
  await topUp(demo, 'solana:', (offer) => payOnSolana(chains, solanaPayer, offer, fiveDollars));
  say('6. The first wallet signs in and chats until its balance refuses');
  await chatUntilRefused(demo, evm);
  say('7. It reads its transactions, newest first');
  await readTransactions(demo, evm);
  say('8. The second wallet calls a node of Base through the platform, with viem');
  await callNode(demo, solana);
  say('9. The second wallet reads its transactions');
  await readTransactions(demo, solana);
  say('10. sluice ledger verify');
  await verifyLedger(demo);
}

say('1. Start an EVM node and a Solana VM, with a payment token on each');
const chains = await startPaymentChains();
try {
  say(`  ${chains.node.url} (chain ${chains.node.chainId}), ${chains.vm.url}`);
  say('2. Start the platform: api, worker and ops, a PostgreSQL, and a tiny model of random weights');
  const models = [{ manifest: { pricing: { input: { usd: 0, diem: 0 }, output: price } } }];
  const platform = await startPlatform({ engine: 'text', models, processEnv: chains.environment, ownPostgres: true });
  try {
    say(`  ${platform.baseUrl}`);
    await run({ platform, chains });
    say('Done.');
  } finally {
    await platform.stop();
  }
} finally {
  await chains.stop();
}
