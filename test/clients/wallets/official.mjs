// The protocol's own client packages pay and then chat. SLUICE_TEST_CLIENT: `{ baseUrl, model, evm, solana }` with the keys
// of two payers and the address of a Solana node; prints what they got.
import { createKeyPairSignerFromBytes } from '@solana/kit';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithSIWx } from '@x402/extensions/sign-in-with-x';
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { privateKeyToAccount } from 'viem/accounts';
import { chatBody, printResults, readSettings, refusalOf } from './settings.mjs';

const { baseUrl, model, evm, solana } = readSettings();
const topUp = `${baseUrl}/x402/top-up`;
const spendControls = { maxAmountPerPayment: '$10000' };

async function pay(schemes) {
  const response = await wrapFetchWithPayment(fetch, x402Client.fromConfig({ schemes, spendControls }))(topUp, {
    method: 'POST',
  });
  const header = response.headers.get('PAYMENT-RESPONSE');
  const body = await response.json();
  return { status: response.status, body, settlement: header && decodePaymentResponseHeader(header) };
}

async function chat(signer) {
  const signedIn = wrapFetchWithSIWx(fetch, signer);
  const response = await signedIn(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(chatBody(model)),
  });
  const body = await response.json();
  const remaining = response.headers.get('X-Balance-Remaining');
  return { status: response.status, choices: body.choices?.length, remaining, error: body.error };
}

const account = privateKeyToAccount(evm.privateKey);
const evmSchemes = [{ network: 'eip155:8453', client: new ExactEvmScheme(account) }];
const keyPair = await createKeyPairSignerFromBytes(Buffer.from(solana.secretKey, 'base64'));
const svmSchemes = [
  {
    network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
    client: new ExactSvmScheme(keyPair, { rpcUrl: solana.rpcUrl }),
  },
];

printResults({
  byDefault: await refusalOf(() =>
    wrapFetchWithPayment(fetch, x402Client.fromConfig({ schemes: evmSchemes }))(topUp, { method: 'POST' }),
  ),
  evm: await pay(evmSchemes),
  evmChat: await chat(account),
  solana: await pay(svmSchemes),
  solanaChat: await chat(keyPair),
});
