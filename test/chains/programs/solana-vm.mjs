// A Solana VM with JSON-RPC on a free loopback port. Prints one line of JSON with its address when it listens, and ends
// with its parent. SLUICE_TEST_SOLANA_VM has its options: mint, decimals, genesisHash, slotMs, clockOffsetS.
import { createServer } from 'node:http';
import { SolanaLedger } from './solana-ledger.mjs';
import { RpcError, solanaMethods } from './solana-methods.mjs';

const options = {
  mint: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
  decimals: 6,
  genesisHash: '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d',
  slotMs: 400,
  clockOffsetS: 0,
  ...JSON.parse(process.env.SLUICE_TEST_SOLANA_VM ?? '{}'),
};
const ledger = await SolanaLedger.create(options);
const methods = solanaMethods(ledger, options);
setInterval(() => ledger.passSlot(), options.slotMs);

/** JSON with integers of 64 bits as numbers, which JSON.stringify cannot write. */
function printJson(value) {
  const text = JSON.stringify(value, (_key, entry) => (typeof entry === 'bigint' ? `\u0000${entry}` : entry));
  return text.replaceAll(/"\\u0000(\d+)"/g, '$1');
}

async function answer({ id = null, method, params = [] }) {
  const head = { jsonrpc: '2.0', id };
  const run = methods.get(method);
  if (!run) return { ...head, error: { code: -32601, message: 'Method not found' } };
  try {
    return { ...head, result: (await run(params)) ?? null };
  } catch (error) {
    if (!(error instanceof RpcError)) process.stderr.write(`${method}: ${error?.stack}\n`);
    const { code = -32603, message, data } = error instanceof RpcError ? error : { message: 'Internal error' };
    return { ...head, error: { code, message, ...(data && { data }) } };
  }
}

async function respond(request, response) {
  const parts = [];
  for await (const part of request) parts.push(part);
  let calls;
  try {
    calls = JSON.parse(Buffer.concat(parts).toString('utf8'));
  } catch {
    calls = null;
  }
  const answers = [];
  for (const call of Array.isArray(calls) ? calls : [calls]) {
    const isCall = typeof call === 'object' && call !== null;
    const refusal = { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } };
    answers.push(isCall ? await answer(call) : refusal);
  }
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(printJson(Array.isArray(calls) ? answers : answers[0]));
}

const server = createServer((request, response) => void respond(request, response));
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })}\n`);
});

// The pipe of the parent closes when it ends, however it ends.
process.stdin.on('end', () => process.exit(0)).resume();
